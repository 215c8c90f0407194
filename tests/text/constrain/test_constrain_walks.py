"""Laws of every family: what a grammar allows parses and conforms, and what a family writes the grammar allows."""

from __future__ import annotations

import pytest
from constrain_kit import BOUNDS, TOOLS, VALIDATORS, accepts, constraint
from evals.constrained.walk import walk

from counterfoil.text import Format, family, names
from counterfoil.text.constrain import Turn
from counterfoil.types.message import Message, Text, ToolCall
from counterfoil.types.request import AUTO, Reply, ToolChoice

ANY = ToolChoice("any")


@pytest.mark.parametrize("name", names())
def test_whatever_can_be_written_parses_and_conforms(name: str) -> None:
    whole = 0
    for choice, seeds in ((ANY, range(4)), (AUTO, range(2))):
        held = constraint(name, choice, Turn(calls=2, reasoning=False, bounds=BOUNDS))
        for seed in seeds:
            text, ended = walk(held.lark(), seed)
            if not ended:
                continue
            reply = Format(family(name), TOOLS).parse(text)
            whole += 1
            assert choice is AUTO or reply.message.calls, text
            for call in reply.message.calls:
                assert call.arguments is not None, (call.parse_error, text)
                assert VALIDATORS[call.name].is_valid(call.arguments), (call.arguments, text)
    assert whole, "not one text came to its end"


@pytest.mark.parametrize("name", names())
def test_what_the_family_writes_can_be_written_under_its_grammar(name: str) -> None:
    format = Format(family(name), TOOLS)
    calls = (
        ToolCall("c1", "get_weather", {"city": "Graz", "days": 3, "unit": "f", "tags": ["x", "y"]}),
        ToolCall("c2", "ping", {}),
    )
    held = constraint(name, turn=Turn(calls=3)).lark()
    # One call at a time in a reply is all that Harmony knows.
    some = calls[:1] if name == "harmony" else calls
    assert accepts(held, format.render(Reply(Message("assistant", some))))
    assert accepts(held, format.render(Reply(Message("assistant", (Text("It is fine."),)))))


@pytest.mark.parametrize("name", names())
def test_prose_may_come_before_calls(name: str) -> None:
    call = ToolCall("c1", "ping", {})
    text = Format(family(name), TOOLS).render(Reply(Message("assistant", (Text("Let me see."), call))))
    assert accepts(constraint(name).lark(), text) == (name not in ("react", "react-paper")), text
