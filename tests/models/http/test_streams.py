"""Streams as hosts really send them: odd, slow, in pieces."""

from __future__ import annotations

import threading
from collections.abc import Iterable
from typing import Any

import pytest
from http_kit import ADA, CALLS, Desk, model_at, run_at, talk
from provider_kit import CONTENT, HOST_OF, WIRES, Asked, Out, Provider, raw, reply_of, say, sse, stream_bytes

from counterfoil import Harness, Run, wires
from counterfoil.models.client import Timeouts
from counterfoil.models.framing import write_frame
from counterfoil.models.retry import Clock
from counterfoil.models.sse import Event, SseReader, write_event
from counterfoil.types.entry import Said
from counterfoil.types.stream import BlockDelta

pytestmark = pytest.mark.anyio

ORDER, STOCK = '{"order_id": "ORD-1"}', '{"sku": "S-7", "least": 2}'


@pytest.mark.parametrize("wire", WIRES)
async def test_split_at_every_byte(wire: str) -> None:
    """Each byte is a chunk of its own, so that events, lines and letters arrive in halves."""
    whole = reply_of([*CALLS[1:]])
    told = "Er käme heute — 今日 🚚"

    def bytewise(reply: Any) -> Any:
        pieces = b"".join(stream_bytes(wires.get(wire), reply))
        return raw([bytes([each]) for each in pieces], CONTENT[HOST_OF[wire].framing])

    desk = Desk()
    run, _ = await run_at(wire, [bytewise(whole), bytewise(reply_of(told))], desk=desk)
    assert run.outcome.kind == "answered", run.outcome
    assert run.text == told
    assert sorted(desk.done) == [("lookup_order", "ORD-1"), ("lookup_stock", "S-7")]


@pytest.mark.parametrize("wire", WIRES)
async def test_words_arrive_while_the_host_still_writes(wire: str) -> None:
    heard = threading.Event()
    pieces = list(stream_bytes(wires.get(wire), reply_of("one two three")))
    first = next(index for index, piece in enumerate(pieces) if b"one" in piece) + 1

    def slow(asked: Asked, out: Out) -> None:
        out.begin(CONTENT[HOST_OF[wire].framing])
        for piece in pieces[:first]:
            out.send(piece)
        assert heard.wait(5), "the first words were handed on before the rest was written"
        for piece in pieces[first:]:
            out.send(piece)
        out.end()

    with Provider(wire, [slow]) as provider:
        async with model_at(provider) as model:
            async for event in Harness(model, Desk().catalogue).stream("please", ADA):
                if isinstance(event, BlockDelta):
                    heard.set()
    assert heard.is_set()


def _chat(*deltas: dict[str, Any], finish: str | None = "tool_calls", usage: bool = True) -> list[bytes]:
    chunks: list[dict[str, Any]] = [{"choices": [{"index": 0, "delta": delta}]} for delta in deltas]
    if finish:
        chunks.append({"choices": [{"index": 0, "delta": {}, "finish_reason": finish}]})
    if usage:
        chunks.append({"choices": [], "usage": {"prompt_tokens": 5, "completion_tokens": 3, "total_tokens": 8}})
    return sse(*chunks, "[DONE]")


def _call(arguments: str, name: str | None = None, **more: Any) -> dict[str, Any]:
    return {
        "tool_calls": [{**more, "function": {**({"name": name} if name is not None else {}), "arguments": arguments}}]
    }


CHATS: dict[str, list[bytes]] = {
    "usual": _chat(
        _call("", "lookup_order", index=0, id="a", type="function"),
        _call(ORDER[:7], index=0),
        _call(ORDER[7:], index=0),
        _call(STOCK, "lookup_stock", index=1, id="b", type="function"),
    ),
    "without ids": _chat(
        _call(ORDER, "lookup_order", index=0, type="function"), _call(STOCK, "lookup_stock", index=1, type="function")
    ),
    "blank ids": _chat(_call(ORDER, "lookup_order", index=0, id=""), _call(STOCK, "lookup_stock", index=1, id="")),
    "name in every delta": _chat(
        _call(ORDER[:7], "lookup_order", index=0, id="a"),
        _call(ORDER[7:], "lookup_order", index=0, id="a"),
        _call(STOCK[:9], "lookup_stock", index=1, id="b"),
        _call(STOCK[9:], "lookup_stock", index=1, id="b"),
    ),
    "blank name in later deltas": _chat(
        _call(ORDER[:7], "lookup_order", index=0, id="a"),
        _call(ORDER[7:], "", index=0, id=""),
        _call(STOCK, "lookup_stock", index=1, id="b"),
    ),
    "no index": _chat(_call(ORDER, "lookup_order", id="a"), _call(STOCK, "lookup_stock", id="b")),
    "index always 0": _chat(
        _call(ORDER, "lookup_order", index=0, id="a"), _call(STOCK, "lookup_stock", index=0, id="b")
    ),
    "finish says stop": _chat(
        _call(ORDER, "lookup_order", index=0, id="a"), _call(STOCK, "lookup_stock", index=1, id="b"), finish="stop"
    ),
    "no usage": _chat(
        _call(ORDER, "lookup_order", index=0, id="a"), _call(STOCK, "lookup_stock", index=1, id="b"), usage=False
    ),
    "strange events": [
        b": a comment\n\n",
        b"event: weather\nid: 7\nretry: 10\n\n",
        *sse({"object": "weather", "degrees": 20}, {"choices": None}, {"choices": [{"delta": None}]}),
        *_chat(_call(ORDER, "lookup_order", index=0, id="a"), _call(STOCK, "lookup_stock", index=1, id="b")),
    ],
    "returns and line feeds": [
        piece.replace(b"\n", b"\r\n")
        for piece in _chat(_call(ORDER, "lookup_order", index=0, id="a"), _call(STOCK, "lookup_stock", index=1, id="b"))
    ],
}


@pytest.mark.parametrize("kind", CHATS)
async def test_two_calls_as_chat_hosts_send_them(kind: str) -> None:
    desk = Desk()
    run, provider = await run_at("openai-chat", [raw(CHATS[kind]), say("done")], desk=desk)
    assert run.text == "done", run.outcome
    assert sorted(desk.done) == [("lookup_order", "ORD-1"), ("lookup_stock", "S-7")]
    sent = provider.asked[1].body["messages"]
    ids = [call["id"] for call in sent[1]["tool_calls"]]
    assert len(set(ids)) == 2
    assert all(ids)
    assert [message["tool_call_id"] for message in sent[2:]] == ids


async def test_usage_after_the_finish_is_counted() -> None:
    run, provider = await run_at(
        "openai-chat", [raw(CHATS["usual"]), say("done")], prices={"input": 1.0, "output": 2.0}
    )
    usage = next(entry.usage for entry in run.entries if isinstance(entry, Said) and entry.usage is not None)
    assert (usage.input_tokens, usage.output_tokens, usage.cost) == (5, 3, 11e-6)
    assert provider.asked[0].body["stream_options"] == {"include_usage": True}


async def test_geminis_stop_with_calls() -> None:
    events = sse(
        {"candidates": [{"content": {"role": "model", "parts": [{"text": "Let me look."}]}}], "modelVersion": "m"},
        {
            "candidates": [
                {
                    "content": {
                        "role": "model",
                        "parts": [
                            {
                                "functionCall": {"name": "lookup_order", "args": {"order_id": "ORD-1"}},
                                "thoughtSignature": "c2ln",
                            },
                            {"functionCall": {"name": "lookup_stock", "args": {"sku": "S-7"}}},
                        ],
                    },
                    "finishReason": "STOP",
                }
            ],
            "usageMetadata": {"promptTokenCount": 5, "candidatesTokenCount": 3, "totalTokenCount": 8},
        },
    )
    desk = Desk()
    run, provider = await run_at("gemini", [raw(events), say("done")], desk=desk)
    assert run.text == "done", run.outcome
    assert len(desk.done) == 2
    said, results = provider.asked[1].body["contents"][1:]
    assert said["parts"][1]["thoughtSignature"] == "c2ln"
    assert len(results["parts"]) == 2, "the results of one turn go back in one content"


CUT = '{"order_id": "ORD'

STARTED: list[dict[str, Any]] = [
    {
        "type": "message_start",
        "message": {
            "id": "m",
            "type": "message",
            "role": "assistant",
            "content": [],
            "model": "m",
            "usage": {"input_tokens": 1, "output_tokens": 1},
        },
    },
    {
        "type": "content_block_start",
        "index": 0,
        "content_block": {"type": "tool_use", "id": "a", "name": "lookup_order", "input": {}},
    },
]

TRUNCATED: dict[str, Iterable[bytes]] = {
    "openai-chat": _chat(_call(CUT, "lookup_order", index=0, id="a"), finish="length"),
    "openai-chat, and says stop": _chat(_call(CUT, "lookup_order", index=0, id="a"), finish="tool_calls"),
    "anthropic": sse(
        *STARTED,
        {"type": "content_block_delta", "index": 0, "delta": {"type": "input_json_delta", "partial_json": CUT}},
        {"type": "content_block_stop", "index": 0},
        {"type": "message_delta", "delta": {"stop_reason": "max_tokens"}, "usage": {"output_tokens": 9}},
        {"type": "message_stop"},
    ),
    "anthropic, before the arguments": sse(
        *STARTED,
        {"type": "content_block_stop", "index": 0},
        {"type": "message_delta", "delta": {"stop_reason": "max_tokens"}, "usage": {"output_tokens": 9}},
        {"type": "message_stop"},
    ),
}


@pytest.mark.parametrize("kind", TRUNCATED)
async def test_a_call_with_truncated_arguments_never_runs(kind: str) -> None:
    desk = Desk()
    run, provider = await run_at(kind.partition(",")[0], [raw(TRUNCATED[kind]), say("sorry")], desk=desk)
    assert desk.done == []
    assert [result.code for result in run.results.values()] == ["not_parsed"]
    assert run.text == "sorry"
    assert len(provider.asked) == 2


async def test_a_call_that_the_line_cut_never_runs() -> None:
    desk = Desk()
    run, _ = await run_at(
        "openai-chat", [raw(_chat(_call(ORDER, "lookup_order", index=0, id="a"), finish=None)[:1], cut=True)], desk=desk
    )
    assert run.outcome.kind == "failed"
    assert desk.done == []
    assert not run.results


UNKNOWN: dict[str, dict[str, Any]] = {
    "anthropic": {"type": "weather", "degrees": 20},
    "openai-chat": {"object": "weather", "degrees": 20},
    "openai-responses": {"type": "response.weather.delta", "degrees": 20},
    "gemini": {"weather": 20},
    "gemini-interactions": {"event_type": "weather.delta", "degrees": 20},
    "mistral": {"object": "weather"},
    "cohere": {"type": "weather"},
    "ollama": {"weather": 20},
    "bedrock": {"weather": {"degrees": 20}},
}


@pytest.mark.parametrize("wire", WIRES)
async def test_an_event_of_a_type_unknown_to_us(wire: str) -> None:
    framing = HOST_OF[wire].framing
    strange = write_frame(framing, UNKNOWN[wire])
    pieces = list(stream_bytes(wires.get(wire), reply_of("one two")))
    mixed = [each for piece in pieces[:-1] for each in (strange, piece)] + [pieces[-1]]
    run, _ = await run_at(wire, [raw(mixed, CONTENT[framing])])
    assert run.text == "one two", run.outcome


@pytest.mark.parametrize("wire", [wire for wire in WIRES if HOST_OF[wire].framing == "sse"])
async def test_a_host_that_was_asked_for_a_stream_and_has_none(wire: str) -> None:
    def whole(reply: Any) -> Any:
        return lambda asked, out: out.json(asked.wire.write_reply(reply_of(reply)))

    desk = Desk()
    run, _ = await run_at(wire, [whole(CALLS), whole("done")], desk=desk, prices={"input": 1.0, "output": 1.0})
    assert run.text == "done"
    assert len(desk.done) == 2


@pytest.mark.parametrize("wire", [wire for wire in WIRES if wire != "gemini"])
async def test_a_host_that_does_not_close_a_stream_which_has_said_everything(wire: str) -> None:
    """The answer is there within a moment, and the line is closed from our side.

    Not so on Gemini's wire, where any event may be the last: only the end of the stream says that it was.
    """
    pieces = list(stream_bytes(wires.get(wire), reply_of("done")))

    def lingering(asked: Asked, out: Out) -> None:
        out.begin(CONTENT[HOST_OF[wire].framing])
        for piece in pieces:
            out.send(piece)
        assert out.left()

    run, _ = await run_at(wire, [lingering], timeouts=Timeouts(read=5.0), clock=Clock())
    assert run.text == "done"


async def test_connections_are_kept() -> None:
    ports: set[Any] = set()

    def noting(asked: Asked, out: Out) -> None:
        ports.add(out.connection.getpeername())
        say("done")(asked, out)

    with Provider("openai-chat", [noting] * 6) as provider:
        async with model_at(provider) as model:
            for number in range(6):
                run: Run = await talk(Harness(model, Desk().catalogue), stream=number % 2 == 0)
                assert run.text == "done"
    assert len(ports) == 1


# Server-sent events


def test_sse_fields_and_line_ends() -> None:
    text = (
        b"\xef\xbb\xbfdata: one\n\n"
        b": comment\ndata:two\ndata:  three\n\n"
        b"event: named\r\ndata: four\r\n\r\n"
        b"data: five\rdata\r\r"
        b"event: nothing\n\n"
        b"id: 3\nretry: 5\ndata: six\n\n"
        b"data: cut off"
    )
    expected = [
        Event("message", b"one"),
        Event("message", b"two\n three"),
        Event("named", b"four"),
        Event("message", b"five\n"),
        Event("message", b"six"),
    ]
    assert list(SseReader().feed(text)) == expected
    for size in (1, 2, 3, 5, 7):
        reader = SseReader()
        pieces = [text[at : at + size] for at in range(0, len(text), size)]
        assert [event for piece in pieces for event in reader.feed(piece)] == expected
    for at in range(len(text)):
        reader = SseReader()
        assert [*reader.feed(text[:at]), *reader.feed(b""), *reader.feed(text[at:])] == expected


def test_what_is_written_is_read() -> None:
    assert list(SseReader().feed(write_event(b"{}", "kind") + write_event(b"[]"))) == [
        Event("kind", b"{}"),
        Event("message", b"[]"),
    ]
