"""Errors of hosts and lines: what is tried again, how long is waited, and what the outcome says."""

from __future__ import annotations

import socket
from email.utils import formatdate
from typing import Any

import pytest
from http_kit import ADA, CALLS, Desk, FakeClock, model_at, run_at
from provider_kit import (
    CONTENT,
    HOST_OF,
    WIRES,
    Asked,
    Out,
    Provider,
    Turn,
    fail,
    raw,
    reply_of,
    say,
    sse,
    stream_bytes,
)

from counterfoil import ContextOverflow, Harness, ModelError, Reply, Request, Text, wires
from counterfoil.models.client import Timeouts
from counterfoil.models.http import HttpModel
from counterfoil.models.retry import Clock, Retry, retry_after
from counterfoil.types.message import user

pytestmark = pytest.mark.anyio

ASK = Request((user("please"),))


@pytest.mark.parametrize("stream", [False, True], ids=["whole", "stream"])
@pytest.mark.parametrize("wire", WIRES)
async def test_what_passes_is_tried_again(wire: str, stream: bool) -> None:
    clock, desk = FakeClock(), Desk()
    turns = [fail(429, retry_after="7"), fail(500), say(CALLS), fail(503), say("done")]
    run, provider = await run_at(wire, turns, stream=stream, clock=clock, desk=desk)
    assert run.text == "done"
    assert len(desk.done) == 2, "a call ran as often as it was asked for, once"
    assert clock.slept == [7.0, 1.0, 0.5]
    assert provider.asked[0].body == provider.asked[2].body


@pytest.mark.parametrize("status", [408, 409, 429, 500, 502, 503, 529])
async def test_the_statuses_that_pass(status: int) -> None:
    run, provider = await run_at("anthropic", [fail(status), say("done")])
    assert run.text == "done"
    assert len(provider.asked) == 2


@pytest.mark.parametrize("status", [400, 401, 402, 403, 404, 413, 422])
async def test_the_statuses_that_do_not(status: int) -> None:
    run, provider = await run_at("anthropic", [fail(status), say("never")])
    assert run.outcome.kind == "failed"
    assert str(status) in run.outcome.detail
    assert len(provider.asked) == 1


async def test_attempts_are_bounded() -> None:
    clock = FakeClock()
    run, provider = await run_at("openai-chat", [fail(500, {"error": {"message": "meltdown"}})] * 9, clock=clock)
    assert run.outcome.kind == "failed"
    assert run.outcome.detail == (
        "openai+" + provider.base + "#test-model: the host answered 500: meltdown, 4 times in a row. "
        "The host has trouble of its own: resume the run to ask again"
    )
    assert len(provider.asked) == 4
    assert clock.slept == [0.5, 1.0, 2.0]


async def test_a_wait_beyond_patience_is_not_begun() -> None:
    clock = FakeClock()
    run, provider = await run_at("openai-chat", [fail(429, retry_after="3600"), say("never")], clock=clock)
    assert run.outcome.kind == "failed"
    assert "asks to wait 3600 s" in run.outcome.detail
    assert clock.slept == []
    assert len(provider.asked) == 1


async def test_waits_are_bounded_together() -> None:
    clock = FakeClock()
    retry = Retry(attempts=50, patience=60.0)
    run, _ = await run_at("openai-chat", [fail(503)] * 60, clock=clock, retry=retry)
    assert run.outcome.kind == "failed"
    assert sum(clock.slept) <= 60.0


async def test_retry_after_as_a_date_and_in_milliseconds() -> None:
    clock = FakeClock()
    date = formatdate(clock.wall() + 12, usegmt=True)
    turns = [fail(429, retry_after=date), fail(429, retry_after_ms="250", retry_after="9"), say("done")]
    run, _ = await run_at("mistral" if "mistral" in WIRES else "openai-chat", turns, clock=clock)
    assert run.text == "done"
    assert clock.slept == [12.0, 0.25]


@pytest.mark.parametrize("value", ["", "soon", "-3", "nan", "inf", "Wed, 99 Foo 2026", "1e999"])
def test_a_retry_after_that_says_nothing(value: str) -> None:
    assert retry_after({"retry-after": value}, lambda: 0.0) is None


def test_a_date_that_has_passed_waits_no_time() -> None:
    assert retry_after({"retry-after": formatdate(5.0, usegmt=True)}, lambda: 10.0) == 0.0


def test_backoff_grows_and_is_scattered() -> None:
    retry = Retry()
    assert [retry.delay(n, None, 0.0) for n in (1, 2, 3, 9)] == [0.5, 1.0, 2.0, 20.0]
    assert [retry.delay(n, None, 1.0) for n in (1, 2, 3, 9)] == [0.25, 0.5, 1.0, 10.0]
    assert 7.0 <= retry.delay(1, 7.0, 0.9) < 8.0


async def test_no_credit_is_not_waited_for() -> None:
    body = {"error": {"message": "You exceeded your current quota", "code": "insufficient_quota"}}
    run, provider = await run_at("openai-chat", [fail(429, body), say("never")])
    assert run.outcome.kind == "failed"
    assert "insufficient_quota" in run.outcome.detail
    assert len(provider.asked) == 1


async def test_the_host_may_say_itself_whether_to_try_again() -> None:
    run, provider = await run_at("openai-chat", [fail(500, x_should_retry="false"), say("never")])
    assert run.outcome.kind == "failed"
    assert len(provider.asked) == 1


OVERFLOWS: list[tuple[str, int, Any]] = [
    (
        "openai-chat",
        400,
        {"error": {"message": "This model's maximum context length is 8192 tokens", "code": "context_length_exceeded"}},
    ),
    (
        "anthropic",
        400,
        {
            "type": "error",
            "error": {"type": "invalid_request_error", "message": "prompt is too long: 210000 tokens > 200000 maximum"},
        },
    ),
    (
        "gemini",
        400,
        {
            "error": {
                "code": 400,
                "message": "The input token count (1200000) exceeds the maximum number",
                "status": "INVALID_ARGUMENT",
            }
        },
    ),
    ("bedrock", 400, {"message": "Input is too long for requested model."}),
    (
        "openai-chat",
        400,
        {
            "error": {
                "code": 400,
                "message": "the request exceeds the available context size",
                "type": "exceed_context_size_error",
            }
        },
    ),
]


@pytest.mark.parametrize(("wire", "status", "body"), OVERFLOWS)
async def test_a_context_that_is_too_long(wire: str, status: int, body: Any) -> None:
    with Provider(wire, [fail(status, body)] * 2) as provider:
        async with model_at(provider) as model:
            with pytest.raises(ContextOverflow, match="shorten them"):
                await model.reply(ASK)
            with pytest.raises(ContextOverflow, match="shorten them"):
                await _drain(model)


SAID: list[tuple[str, int, Any, str, str]] = [
    (
        "openai-chat",
        401,
        {"error": {"message": "Incorrect API key", "code": "invalid_api_key"}},
        "invalid_api_key): Incorrect API key",
        "Check the key",
    ),
    (
        "anthropic",
        404,
        {"type": "error", "error": {"type": "not_found_error", "message": "model: test-model"}},
        "not_found_error): model: test-model",
        "Check the model's name, 'test-model'",
    ),
    (
        "gemini",
        403,
        [{"error": {"code": 403, "message": "denied", "status": "PERMISSION_DENIED"}}],
        "PERMISSION_DENIED): denied",
        "may use the model",
    ),
    (
        "openai-chat",
        422,
        {"detail": [{"loc": ["body", "tools"], "msg": "Field required"}]},
        "body.tools: Field required",
        "",
    ),
    (
        "openai-chat",
        400,
        {"object": "error", "message": "bad request", "type": "invalid_request"},
        "invalid_request): bad request",
        "",
    ),
    ("openai-chat", 400, {"error": "model not loaded"}, "model not loaded", ""),
    ("bedrock", 403, {"message": "not authorised"}, "AccessDeniedException): not authorised", "may use the model"),
    ("openai-chat", 400, {"odd": True}, '{"odd":true}', ""),
]


@pytest.mark.parametrize(("wire", "status", "body", "said", "advice"), SAID)
async def test_an_error_says_what_the_host_said_and_what_to_do(
    wire: str, status: int, body: Any, said: str, advice: str
) -> None:
    run, _ = await run_at(wire, [fail(status, body, x_amzn_errortype="AccessDeniedException:http://x")])
    assert run.outcome.kind == "failed"
    assert said in run.outcome.detail
    assert advice in run.outcome.detail


async def test_a_page_of_html_says_its_text() -> None:
    page = b"<html><style>p {}</style><h1>502</h1><p>Bad\x1b[31m gateway</p></html>"

    def turn(asked: Asked, out: Out) -> None:
        out.whole(page, 403, "text/html")

    run, _ = await run_at("anthropic", [turn])
    assert "the host answered 403: 502 Bad [31m gateway" in run.outcome.detail


async def test_a_long_error_is_cut() -> None:
    run, _ = await run_at("anthropic", [fail(400, {"error": {"message": "x" * 100_000}})])
    assert len(run.outcome.detail) < 800


async def test_a_redirect_is_not_followed() -> None:
    run, provider = await run_at("anthropic", [fail(307, {}, location="http://elsewhere.example/"), say("never")])
    assert "the host answered 307" in run.outcome.detail
    assert len(provider.asked) == 1


@pytest.mark.parametrize("stream", [False, True], ids=["whole", "stream"])
async def test_a_server_that_is_not_there(stream: bool) -> None:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    clock = FakeClock()
    async with HttpModel("vllm", "m", base=f"http://127.0.0.1:{port}/v1", clock=clock) as model:
        with pytest.raises(ModelError, match="could not be reached"):
            await (_drain(model) if stream else model.reply(ASK))
    assert len(clock.slept) == 3


@pytest.mark.parametrize("stream", [False, True], ids=["whole", "stream"])
async def test_a_connection_that_breaks_before_the_answer_is_tried_again(stream: bool) -> None:
    run, provider = await run_at("anthropic", [lambda asked, out: out.cut(), say("done")], stream=stream)
    assert run.text == "done"
    assert len(provider.asked) == 2


async def test_a_stream_that_is_cut_before_its_first_piece_is_tried_again() -> None:
    start = list(stream_bytes(wires.get("anthropic"), _hello()))[:1]
    run, provider = await run_at("anthropic", [raw([], cut=True), raw(start, cut=True), raw(start), say("done")])
    assert run.text == "done"
    assert len(provider.asked) == 4


@pytest.mark.parametrize("wire", WIRES)
async def test_a_stream_that_is_cut_after_its_first_piece_is_not(wire: str) -> None:
    pieces = list(stream_bytes(wires.get(wire), _hello()))
    half = next(index for index, piece in enumerate(pieces) if b"hello" in piece) + 1
    desk = Desk()
    run, provider = await run_at(
        wire, [raw(pieces[:half], CONTENT[HOST_OF[wire].framing], cut=True), say("never")], desk=desk
    )
    assert run.outcome.kind == "failed"
    assert "had begun" in run.outcome.detail
    assert "resume the run" in run.outcome.detail
    assert len(provider.asked) == 1
    assert desk.done == []


async def test_a_cut_run_is_resumed_and_asks_again() -> None:
    pieces = list(stream_bytes(wires.get("openai-chat"), _hello()))
    with Provider("openai-chat", [raw(pieces[:3], cut=True), say(CALLS), say("done")]) as provider:
        async with model_at(provider) as model:
            desk = Desk()
            harness = Harness(model, desk.catalogue)
            run = await _last(harness.stream("please", ADA))
            assert run.outcome.kind == "failed"
            run = await _last(harness.resume_stream(run.id))
    assert run.text == "done"
    assert len(desk.done) == 2
    assert provider.asked[0].body == provider.asked[1].body


@pytest.mark.parametrize("stream", [False, True], ids=["whole", "stream"])
async def test_malformed_json(stream: bool) -> None:
    def turn(asked: Asked, out: Out) -> None:
        out.whole(b'{"choices": [{"mess', content="text/event-stream" if stream else "application/json")

    bad: Turn = raw(sse('{"choices": [{"delta"')) if stream else turn
    run, provider = await run_at("openai-chat", [bad, say("never")], stream=stream)
    assert run.outcome.kind == "failed"
    assert "is not JSON" in run.outcome.detail
    assert len(provider.asked) == 1


@pytest.mark.parametrize("body", [b"[]", b"null", b'{"choices": 7}', b'{"choices": [{"message": []}]}', b"{}", b"\xff"])
async def test_a_body_that_nobody_foresaw_ends_the_run_and_nothing_else(body: bytes) -> None:
    def turn(asked: Asked, out: Out) -> None:
        out.whole(b"data: " + body + b"\n\n" if asked.stream else body, content=CONTENT["sse"] if asked.stream else "")

    for stream in (False, True):
        run, _ = await run_at("openai-chat", [turn] * 4, stream=stream)
        assert run.outcome.kind == "failed"


async def test_an_error_inside_a_stream_that_passes_is_tried_again_before_the_first_piece() -> None:
    overloaded = sse({"type": "error", "error": {"type": "overloaded_error", "message": "Overloaded"}})
    run, provider = await run_at("anthropic", [raw(overloaded), say("done")])
    assert run.text == "done"
    assert len(provider.asked) == 2
    pieces = list(stream_bytes(wires.get("anthropic"), _hello()))[:3]
    run, provider = await run_at("anthropic", [raw([*pieces, *overloaded]), say("never")])
    assert run.outcome.kind == "failed"
    assert "Overloaded" in run.outcome.detail
    assert len(provider.asked) == 1


async def test_an_answer_that_is_too_long_is_not_read() -> None:
    for stream in (False, True):
        run, _ = await run_at("anthropic", [say("x" * 200_000), say("never")], stream=stream, most=100_000)
        assert run.outcome.kind == "failed"
        assert "longer than 100,000 bytes" in run.outcome.detail


@pytest.mark.parametrize("stream", [False, True], ids=["whole", "stream"])
async def test_a_silent_host_is_left_after_a_while(stream: bool) -> None:
    def silent(asked: Asked, out: Out) -> None:
        assert out.left(), "the client closes its socket"

    timeouts = Timeouts(read=0.1)
    run, _ = await run_at("anthropic", [silent] * 2, stream=stream, timeouts=timeouts, retry=Retry(attempts=2))
    assert run.outcome.kind == "failed"
    assert "said nothing for 0.1 s, 2 times in a row" in run.outcome.detail


async def test_a_slow_stream_is_bounded_as_a_whole() -> None:
    """Each piece comes in time; the answer does not."""
    pieces = list(stream_bytes(wires.get("anthropic"), _hello()))

    def drip(asked: Asked, out: Out) -> None:
        out.begin("text/event-stream")
        for _ in range(100):
            out.send(pieces[0] if _ == 0 else b": ping\n\n")
            if out.left(0.02):
                return
        raise AssertionError("the client waited for ever")

    run, _ = await run_at("anthropic", [drip], timeouts=Timeouts(total=0.3), clock=Clock())
    assert run.outcome.kind == "failed"
    assert "no whole answer within 0.3 s" in run.outcome.detail


def _hello() -> Reply:
    return reply_of([Text("hello, hello"), *CALLS[1:]])


async def _drain(model: HttpModel) -> None:
    async for _ in model.stream(ASK):
        pass


async def _last(events: Any) -> Any:
    last = None
    async for event in events:
        last = event
    return last
