"""The text seam: grammars that seal, a reader that does not mind where text is cut, prompts that nobody can break."""

import json
from itertools import pairwise
from typing import Any

import llguidance
import pytest
from hypothesis import given
from hypothesis import strategies as st
from local_desk import DESK, LOOKUP

from counterfoil.models.local.chat import Chat, Turn
from counterfoil.models.local.gguf import Metadata
from counterfoil.text.embedded.family import BARE, FAMILIES, HERMES, Family, detect
from counterfoil.text.embedded.grammar import answer_grammar, bound, catalogue_grammar
from counterfoil.text.embedded.reader import CallReader, Read
from counterfoil.types.error import ModelError
from counterfoil.types.message import Message, Text, ToolCall, ToolResult, system, user

CALL = '{"name": "lookup_order", "arguments": {"order_id": "ORD-1001"}}'
TAGGED = f"<tool_call>\n{CALL}\n</tool_call>"
FENCED = f"```json\n{CALL}\n```"


def accepted(grammar: str, text: str) -> bool:
    tokenizer: Any = llguidance.LLTokenizer("byte")
    matcher: Any = llguidance.LLMatcher(tokenizer, grammar)
    tokens = tokenizer.tokenize_str(text)
    return bool(matcher.validate_tokens(tokens) == len(tokens)) and not matcher.get_error()


@pytest.mark.parametrize("family", FAMILIES.values(), ids=FAMILIES)
@pytest.mark.parametrize(
    "text", [CALL, TAGGED, FENCED, "It ships on Friday.", "A {brace} is fine", f"{TAGGED}\n{TAGGED}"]
)
def test_the_grammar_takes_prose_and_calls_in_every_style(family: Family, text: str) -> None:
    assert accepted(catalogue_grammar(DESK, family, prose=True, calls=2), text)


@pytest.mark.parametrize("family", FAMILIES.values(), ids=FAMILIES)
@pytest.mark.parametrize(
    "text",
    [
        f"Sure! {TAGGED}",
        f"Sure!\n{FENCED}",
        f"Sure: {CALL}",
        f"[{CALL}]",
        f" {CALL}",
        CALL.replace("lookup_order", "rm_rf"),
        CALL.replace("ORD-1001", "1001"),
        CALL.replace('"ORD-1001"', '"ORD-1001", "extra": 1'),
        CALL.replace("lookup_order", "cancel_order"),
        "\n".join([TAGGED] * 3),
    ],
)
def test_no_call_escapes_the_grammar(family: Family, text: str) -> None:
    grammar = catalogue_grammar(DESK, family, prose=True, calls=2)
    assert not accepted(grammar, text)


def test_prose_may_be_forbidden_and_calls_too() -> None:
    assert not accepted(catalogue_grammar(DESK, HERMES, prose=False, calls=1), "Hello")
    assert accepted(catalogue_grammar((), HERMES, prose=True, calls=1), "<tool_call> is a tag")


def test_bounds_are_added_and_annotations_dropped_at_every_depth() -> None:
    schema = {
        "type": "array",
        "description": "x",
        "items": {"anyOf": [{"type": "string", "title": "t"}, {"enum": ["a"]}]},
    }
    assert bound(schema) == {
        "type": "array",
        "maxItems": 8,
        "items": {"anyOf": [{"type": "string", "maxLength": 300}, {"enum": ["a"]}]},
    }
    described = {"type": "object", "properties": {"description": {"type": "integer"}}}
    assert bound(described) == described, "a property may be called description"


def _read(family: Family, pieces: list[str]) -> list[Read]:
    reader = CallReader(family)
    found = [read for piece in pieces for read in reader.feed(piece)] + list(reader.finish())
    joined: list[Read] = []
    for read in found:
        if joined and joined[-1].kind == read.kind and read.kind in ("prose", "arguments"):
            joined[-1] = Read(read.kind, joined[-1].text + read.text)
        else:
            joined.append(read)
    return joined


TRICKY = json.dumps({"name": "say", "arguments": {"text": 'a } "quoted" \\ </tool_call> {', "deep": [{"x": []}]}})


@given(st.data())
def test_the_reader_does_not_mind_where_text_is_cut(data: st.DataObject) -> None:
    text = data.draw(
        st.sampled_from(
            [TAGGED, FENCED, CALL, f"{TAGGED}\n<tool_call>\n{TRICKY}\n</tool_call>", "Hello < world", "<tool", "{", ""]
        )
    )
    cuts = sorted(data.draw(st.sets(st.integers(0, len(text)))))
    edges = [0, *cuts, len(text)]
    pieces = [text[first:last] for first, last in pairwise(edges)]
    assert _read(HERMES, pieces) == _read(HERMES, [text])


def test_what_is_read() -> None:
    assert (
        _read(HERMES, [f"{TAGGED}\n{TAGGED}"])
        == [
            Read("call", "lookup_order"),
            Read("arguments", '{"order_id": "ORD-1001"}'),
            Read("end"),
        ]
        * 2
    )
    assert _read(HERMES, ["Hello"]) == [Read("prose", "Hello")]
    reader = CallReader(BARE)
    assert [read.kind for read in reader.feed(CALL[:50])] == ["call", "arguments"]
    assert reader.open


CHATML = (
    "{% for m in messages %}{{ '<|im_start|>' + m['role'] + '\n' + m['content'] + '<|im_end|>\n' }}{% endfor %}"
    "{% if add_generation_prompt %}{{ '<|im_start|>assistant\n' }}{% endif %}"
)
STRICT = (
    "{% for m in messages %}{% if (m['role'] == 'user') != (loop.index0 % 2 == 0) %}"
    "{{ raise_exception('roles must alternate') }}{% endif %}[{{ m['role'] }}] {{ m['content'].strip() }}\n{% endfor %}"
)


def chat(template: str, family: Family = HERMES) -> Chat:
    return Chat(Metadata("m", "llama", "mit", template, 100, ("<|im_start|>", "<|im_end|>"), "", "<|im_end|>"), family)


def test_a_whole_conversation_is_rendered() -> None:
    call = ToolCall("1", "lookup_order", {"order_id": "ORD-1001"})
    text = chat(CHATML).conversation(
        [
            system("Be brief."),
            user("Where?"),
            Message("assistant", (Text("I look."), call)),
            Message("tool", (ToolResult("1", (Text("here"),)), ToolResult("2", (Text("there"),)))),
        ],
        (LOOKUP,),
    )
    assert text.startswith("<|im_start|>system\nBe brief.\n\n# Tools")
    assert '"name": "lookup_order"' in text
    assert f"<|im_start|>assistant\nI look.\n{TAGGED}<|im_end|>" in text
    assert text.count("<|im_start|>user") == 2, "results of one turn are one message"
    assert text.endswith("<tool_response>\nthere\n</tool_response><|im_end|>\n<|im_start|>assistant\n")


def test_instructions_go_where_the_template_lets_them() -> None:
    text = chat(STRICT).render([Turn("system", "Be brief."), Turn("user", "Hi")])
    assert text == "[user] Be brief.\n\nHi\n"
    with pytest.raises(ModelError, match="cannot be rendered"):
        chat(STRICT).render([Turn("assistant", "Hi")])


@given(st.lists(st.sampled_from(["<|im_end|>", "<|im_start|>", "<|im_", "<", "end|>", "system", "\n"]), max_size=8))
def test_what_people_write_never_ends_a_turn(parts: list[str]) -> None:
    text = chat(CHATML).render([Turn("user", "".join(parts))])
    assert text.count("<|im_end|>") == 1
    assert text.count("<|im_start|>") == 2


def test_a_template_cannot_run_for_ever() -> None:
    endless = "{% for a in range(99999) %}{% for b in range(99999) %}x{% endfor %}{% endfor %}"
    with pytest.raises(ModelError):
        chat(endless).render([Turn("user", "Hi")])


def test_the_family_is_read_from_the_template() -> None:
    assert detect(CHATML + "{# <tool_call> #}") is HERMES
    assert detect(CHATML) is BARE


def test_a_format_that_no_grammar_knows_is_left_to_the_gate() -> None:
    date = {"type": "string", "format": "date"}
    schema = {"type": "object", "properties": {"pin": {"type": "string", "format": "password"}, "when": date}}
    properties = bound(schema)["properties"]
    assert properties["when"] == date
    assert "format" not in properties["pin"]
    assert properties["pin"]["maxLength"] > 0, "it is bounded like any free text"
    assert accepted(answer_grammar(schema), '{"pin": "0000", "when": "2026-11-30"}')
    assert not accepted(answer_grammar(schema), '{"pin": "0000", "when": "soon"}')
