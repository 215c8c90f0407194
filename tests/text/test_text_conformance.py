"""The laws that every family obeys. A new family is tested by being a file."""

from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st
from text_cases import LOOKUP, PROPERTIES, bare, calls, fed, formats, laws, replies, reply, soups, strings

from counterfoil import text
from counterfoil.types.message import Block, Reasoning, Text, ToolCall
from counterfoil.types.stream import BlockDelta, BlockStart, BlockStop, ReplyStart, ReplyStop

pytestmark = pytest.mark.parametrize("form", formats(), ids=text.names())
Form = text.Format


@laws
@given(data=st.data())
def test_what_is_written_reads_back(form: Form, data: st.DataObject) -> None:
    given = data.draw(replies(form.family))
    written = form.render(given)
    assert bare(form.parse(written)) == bare(given)


@laws
@given(data=st.data())
def test_what_is_written_without_the_tools_reads_back_with_them(form: Form, data: st.DataObject) -> None:
    call = data.draw(calls(form.family))
    given = reply([call])
    if not {"free", "maybe", "either"} & set(call.arguments or {}):
        assert bare(form.parse(form.render(given, ()))) == bare(given)


@laws
@given(data=st.data())
def test_prose_with_markers_in_it_reads_back_or_cannot_be_written(form: Form, data: st.DataObject) -> None:
    word = strings(form.family)
    said = st.one_of(word.map(Text), word.map(Reasoning), calls(form.family))
    given = reply(data.draw(st.lists(said, max_size=4)))
    try:
        written = form.render(given)
    except text.Unwritable:
        assert any(isinstance(block, Text | Reasoning) for block in given.message.blocks)
    else:
        assert bare(form.parse(written)) == bare(given)


@laws
@given(data=st.data())
def test_every_cut_of_a_text_reads_the_same(form: Form, data: st.DataObject) -> None:
    whole = data.draw(soups(form.family) | replies(form.family).map(form.render))
    places = sorted(data.draw(st.lists(st.integers(0, len(whole)), max_size=6)))
    pieces = [whole[start:end] for start, end in zip([0, *places], [*places, len(whole)], strict=True)]
    expected = form.parse(whole)
    assert fed(form, pieces) == expected
    assert fed(form, list(whole)) == expected


@laws
@given(data=st.data())
def test_any_text_is_read_and_no_call_is_made_up(form: Form, data: st.DataObject) -> None:
    whole = data.draw(soups(form.family))
    found = form.parse(whole)
    for call in found.message.calls:
        if call.arguments is None:
            assert call.parse_error
            assert call.raw is not None
            assert not call.name or call.name in whole
        else:
            assert call.name in whole
            assert call.parse_error is None
            json.dumps(call.arguments, allow_nan=False).encode()
    assert found.stop == ("tool_calls" if found.message.calls else "end")


@laws
@given(data=st.data())
def test_a_text_that_is_cut_off_never_makes_a_call_that_was_not_made(form: Form, data: st.DataObject) -> None:
    given = data.draw(replies(form.family))
    written = form.render(given)
    made = [(call.name, json.dumps(call.arguments, sort_keys=True)) for call in given.message.calls]
    for end in range(len(written)):
        found = form.parse(written[:end]).message.calls
        whole = [
            (call.name, json.dumps(call.arguments, sort_keys=True)) for call in found if call.arguments is not None
        ]
        assert whole == made[: len(whole)]
        assert all(call.parse_error for call in found if call.arguments is None)


@laws
@given(data=st.data())
def test_a_stream_is_well_formed(form: Form, data: st.DataObject) -> None:
    whole = data.draw(soups(form.family) | replies(form.family).map(form.render))
    started: dict[int, str] = {}
    reader = form.reader()
    events = [event for piece in whole for event in reader.feed(piece)] + reader.close()
    assert isinstance(events[0], ReplyStart)
    assert isinstance(events[-1], ReplyStop)
    assert sum(isinstance(event, ReplyStart | ReplyStop) for event in events) == 2
    for event in events[1:-1]:
        match event:
            case BlockStart(index):
                assert index == len(started)
                started[index] = ""
            case BlockDelta(index, piece):
                assert index == len(started) - 1
                started[index] += piece
            case BlockStop(index, block):
                assert index == len(started) - 1
                if isinstance(block, Text | Reasoning):
                    assert started[index] == block.text
                if isinstance(block, ToolCall) and block.arguments is not None and not block.ext:
                    assert json.loads(started[index]) == block.arguments
            case _:
                raise AssertionError(event)


@laws
@given(data=st.data())
def test_a_broken_call_is_written_as_it_was_and_does_not_run(form: Form, data: st.DataObject) -> None:
    written = form.render(reply([data.draw(calls(form.family))]))
    found = form.parse(written[: data.draw(st.integers(0, len(written)))])
    broken = [call for call in found.message.calls if call.arguments is None]
    if broken:
        again = form.render(reply([broken[0]]))
        assert (broken[0].raw or "") in again
        assert all(call.arguments is None for call in form.parse(again).message.calls)


def test_a_broken_call_that_came_over_a_wire_keeps_its_name_and_does_not_run(form: Form) -> None:
    call = ToolCall("c1", "look_up", None, '{"word": "x', "cut off")
    written = form.render(reply([call]))
    assert "look_up" in written
    assert all(each.arguments is None for each in form.parse(written).message.calls)


CALL = ToolCall("", "look_up", {"word": "x", "count": 1})


def say(form: Form, *blocks: Block) -> str:
    return form.render(reply(list(blocks)))


@pytest.mark.parametrize(
    "arguments",
    [
        {},
        {"word": "007"},
        {"word": "true", "maybe": "null", "free": "12", "either": 7},
        {"maybe": None, "flag": False, "ratio": -1.5e300, "count": -3},
        {"place": {"a": {"b": [1, {"c": None}, "007"]}, "": []}, "items": ["x", "1", "é\n\t\"'\\"]},
        {"word": " \n spaces around \n\n"},
        {"word": "line\u2028 \U0001f600 \\u003c \\n <b>&amp;</b>"},
        {"grade": "good", "free": {"x": [[]]}},
    ],
)
def test_arguments_of_every_kind_read_back(form: Form, arguments: dict[str, object]) -> None:
    given = reply([ToolCall("", "look_up", arguments)])
    assert bare(form.parse(form.render(given))) == bare(given)


def test_one_call_two_calls_and_text_around_them(form: Form) -> None:
    variants: list[list[Block]] = [
        [CALL],
        [CALL, ToolCall("", "ping", {})],
        [Text("First this."), CALL, Text("then"), ToolCall("", "ping", {}), CALL, Text("Done.")],
        [Reasoning("Let me see."), Text("I will."), CALL],
        [Reasoning("Let me see."), CALL, Text("And so on.\n")],
    ]
    for blocks in variants:
        assert bare(form.parse(form.render(reply(blocks)))) == bare(reply(blocks))


def test_a_string_may_contain_every_marker(form: Form) -> None:
    whole = say(form, CALL)
    for word in (whole, f"before {whole} after", "\n".join([whole, whole]), "</parameter>", "</tool_call>"):
        given = reply([ToolCall("", "look_up", {"word": word, "items": [word]}), CALL])
        assert bare(form.parse(form.render(given))) == bare(given)


def test_an_unknown_tool_is_still_a_call(form: Form) -> None:
    found = form.parse(form.render(reply([ToolCall("", "rm_rf", {"path": "x", "n": 1})])), form._tools[1:])
    assert [call.name for call in found.message.calls] == ["rm_rf"]
    assert found.message.calls[0].arguments in ({"path": "x", "n": 1}, {"path": "x", "n": "1"})


def test_a_call_inside_of_reasoning_is_none(form: Form) -> None:
    quoted = say(form, CALL)
    marks = form.family.reasoning
    if form.family.name in ("react", "react-paper"):
        quoted = f"maybe {quoted.splitlines()[0]}"
    if form.family.name == "harmony":
        quoted = "to=functions.look_up <|constrain|>json<|message|>{}"
    found = form.parse(f"{marks.open}I could write {quoted} here{marks.close}\n\nNo.")
    assert found.message.calls == ()
    assert any(isinstance(block, Reasoning) and "look_up" in block.text for block in found.message.blocks)


def test_a_call_inside_of_reasoning_that_the_prompt_began_is_none(form: Form) -> None:
    if form.family.calls.reads_all:
        return
    marks = form.family.reasoning
    whole = f"I could write {say(form, CALL)} here{marks.close}{marks.after}{say(form, ToolCall('', 'ping', {}))}"
    found = form.parse(whole, thinking=True)
    assert [call.name for call in found.message.calls] == ["ping"]


def test_a_call_in_a_code_fence_is_none(form: Form) -> None:
    quoted = say(form, CALL)
    if form.family.name in ("deepseek-v3", "harmony"):
        quoted = quoted.replace("```", "~~~").replace("<|call|>", "")
    before, after = form.family.answer.open, form.family.answer.close
    whole = f"{before}So:\n```\n{quoted}\n```\nThat is it.{after}".removeprefix(form.family.prefill)
    if form.family.name == "harmony":
        return
    found = form.parse(whole)
    assert found.message.calls == ()
    assert "look_up" in found.message.text


def test_stop_strings_at_the_end_are_no_text(form: Form) -> None:
    for stop in form.family.stop:
        assert bare(form.parse(say(form, Text("Done.")) + stop)) == bare(reply([Text("Done.")]))
        assert bare(form.parse(say(form, CALL) + stop)) == bare(reply([CALL]))


def test_feed_reads_one_reply_after_the_other(form: Form) -> None:
    whole = say(form, Text("Here."), CALL)
    for _ in range(2):
        events = [event for piece in whole for event in form.feed(piece)] + form.close()
        assert any(isinstance(event, BlockStop) and isinstance(event.block, ToolCall) for event in events)


def test_what_cannot_be_written_says_why(form: Form) -> None:
    with pytest.raises(text.Unwritable, match="JSON"):
        say(form, ToolCall("", "look_up", {"place": {"x": float("nan")}}))
    with pytest.raises(text.Unwritable):
        say(form, ToolCall("", "a name\nwith <lines>", {"free": 1}), ToolCall("", "", {}))
    with pytest.raises(text.Unwritable, match="leave it out"):
        say(form, ToolCall("", "look_up", None, "free text", kind="custom"))


def test_every_property_of_the_catalogue_is_tried(form: Form) -> None:
    assert form.declare().count(LOOKUP.name) >= 1
    assert all(name in form.declare() for name in PROPERTIES)
