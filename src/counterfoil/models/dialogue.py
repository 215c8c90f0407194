"""From messages to a prompt: by the model's own template where it says everything, in the family's words where not."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

import msgspec

from counterfoil.models import continuous
from counterfoil.models.template import ChatTemplate, TemplateRefuses
from counterfoil.text import Format, Unwritable
from counterfoil.text.family import Family
from counterfoil.text.jsontext import dumps, same
from counterfoil.text.reader import family_marks
from counterfoil.text.source import markers
from counterfoil.types.error import ModelError
from counterfoil.types.message import Message, Reasoning, Text, ToolCall, ToolResult
from counterfoil.types.request import Reply, ToolSpec

_LABELS = {"user": "User: ", "assistant": "Assistant: "}
PLAIN_STOPS = ("\nUser:", "\nSystem:")
"""What ends a reply where there is no template: the model goes on with somebody else's words."""


class Ability(msgspec.Struct, frozen=True):
    """What a template can say: the declarations of tools, two calls of one turn, and their results.

    `text`: it takes arguments as JSON text, not as an object. `role` is the one it gives results, if it knows one.
    """

    tools: bool
    calls: bool
    results: bool
    text: bool = False
    role: str = "user"


class Dialogue:
    """Renders the conversations of one model. Without a template each turn is a line that says who speaks."""

    def __init__(self, family: Family, template: ChatTemplate | None = None) -> None:
        self.family, self.template = family, template
        self.ability = _probe(family, template) if template is not None else Ability(False, False, False)
        own = family.results
        literals = (
            *family_marks(family),
            *(each.partition("{")[0] for each in (own.open, own.close, own.begin, own.end)),
        )
        self._marks = markers(*(each.strip() for each in literals if len(each.strip()) > 2))

    @property
    def stops(self) -> tuple[str, ...]:
        """What ends a reply, besides the family's own stop strings."""
        return () if self.template is not None else PLAIN_STOPS

    def prompt(self, messages: Sequence[Message], tools: Sequence[ToolSpec]) -> str:
        """Render a conversation, ready for the next reply. Raises `ModelError`."""
        if self.goes_on(messages):
            *turns, begun = self._turns(messages, tools, native=False)
            return f"{self._filled(turns)}{' ' if self.template is None else ''}{begun['content']}"
        native = bool(not tools or self.ability.tools) and self.ability.calls and self.ability.results
        if not native or self.template is None or continuous.is_continuous(self.family):
            return self._filled(self._turns(messages, tools, native=False))
        turns = self._turns(messages, (), native=True)
        return self.template.render(turns, [_function(each) for each in tools])

    def goes_on(self, messages: Sequence[Message]) -> bool:
        """Whether the next reply goes on in a text that has been begun."""
        return continuous.is_continuous(self.family) and bool(messages) and bool(messages[-1].results)

    def _filled(self, turns: list[dict[str, Any]]) -> str:
        if self.template is None:
            return _plain(turns)
        try:
            return self.template.render(turns)
        except TemplateRefuses:
            # Templates differ in the roles that they know; instructions can always stand before the first words.
            if len(turns) > 1 and turns[0]["role"] == "system":
                first = {"role": "user", "content": f"{turns[0]['content']}\n\n{turns[1]['content']}"}
                return self.template.render([first, *turns[2:]] if turns[1]["role"] == "user" else [first, *turns[1:]])
            raise

    def _turns(self, messages: Sequence[Message], tools: Sequence[ToolSpec], *, native: bool) -> list[dict[str, Any]]:
        turns: list[dict[str, Any]] = []
        declared = Format(self.family, tools).declare() if tools else ""
        system = [
            *(self._safe(each.text) for each in messages if each.role == "system"),
            *([declared] if declared else []),
        ]
        if system:
            turns.append({"role": "system", "content": "\n\n".join(system)})
        if continuous.is_continuous(self.family):
            try:
                spoken = list(continuous.turns(self.family, messages, tools, self._safe))
            except Unwritable as error:
                raise ModelError(f"the history cannot be told to the model: {error}") from error
            return _joined([*turns, *({"role": role, "content": text} for role, text in spoken)])
        for message in messages:
            if message.results:
                turns += self._native_results(message.results) if native else [self._results(message.results)]
            elif message.role == "assistant":
                turns.append(self._native(message) if native else self._assistant(message, tools))
            elif message.role != "system":
                turns.append({"role": message.role, "content": self._safe(message.text)})
        return turns if native else _joined(turns)

    def _safe(self, text: str) -> str:
        return text if self.template is None else self.template.harmless(text)

    def _native(self, message: Message) -> dict[str, Any]:
        calls = [_call(each, self.ability.text) for each in message.calls]
        turn: dict[str, Any] = {"role": "assistant", "content": self._safe(message.text)}
        if calls:
            turn["tool_calls"] = calls
        if thoughts := "".join(each.text for each in message.blocks if isinstance(each, Reasoning)):
            turn["reasoning_content"] = self._safe(thoughts)
        return turn

    def _native_results(self, results: Iterable[ToolResult]) -> list[dict[str, Any]]:
        return [
            {
                "role": "tool",
                "name": each.name or "",
                "tool_call_id": each.call_id,
                "content": self._safe(
                    self._marks.pattern.sub(lambda found: f"{found[0][0]} {found[0][1:]}", each.text)
                ),
            }
            for each in results
        ]

    def _assistant(self, message: Message, tools: Sequence[ToolSpec]) -> dict[str, Any]:
        blocks = continuous.sayable(self.family, message.blocks, self._safe)
        try:
            text = Format(self.family, tools).render(Reply(Message("assistant", blocks)))
        except Unwritable as error:
            raise ModelError(f"a message of the history cannot be told to the model: {error}") from error
        return {"role": "assistant", "content": text}

    def _results(self, results: Sequence[ToolResult]) -> dict[str, Any]:
        role = self.ability.role if self.template is not None else "tool"
        text = Format(self.family).results([_with_text(each, self._safe(each.text)) for each in results])
        return {"role": role, "content": text}


def _with_text(result: ToolResult, text: str) -> ToolResult:
    return msgspec.structs.replace(result, content=(Text(text),))


def _function(tool: ToolSpec) -> dict[str, Any]:
    function = {"name": tool.name, "description": tool.description, "parameters": tool.parameters}
    return {"type": "function", "function": function}


def _call(call: ToolCall, text: bool) -> dict[str, Any]:
    arguments: Any = call.arguments if call.arguments is not None else {}
    function = {"name": call.name, "arguments": dumps(arguments) if text else arguments}
    return {"id": call.provider_id or call.id, "type": "function", "function": function}


def _joined(turns: Sequence[dict[str, Any]]) -> list[dict[str, Any]]:
    # Many templates insist that user and assistant take turns: results of one turn are one user message.
    found: list[dict[str, Any]] = []
    for turn in turns:
        if found and found[-1]["role"] == turn["role"]:
            found[-1] = {**turn, "content": f"{found[-1]['content']}\n{turn['content']}"}
        else:
            found.append(turn)
    return found


def _end(turn: dict[str, Any]) -> str:
    return "\n\n" if turn["role"] == "system" else "\n"


def _plain(turns: Sequence[dict[str, Any]]) -> str:
    parts = [f"{_LABELS.get(turn['role'], '')}{turn['content']}{_end(turn)}" for turn in turns]
    return "".join([*parts, _LABELS["assistant"].rstrip()])


_TOOLS = (
    ToolSpec("probe_alpha", "The first probe.", {"type": "object", "properties": {"one": {"type": "string"}}}),
    ToolSpec("probe_beta", "The second probe.", {"type": "object", "properties": {"two": {"type": "string"}}}),
)
_CALLS = (
    ToolCall("probecal1", "probe_alpha", {"one": "amber"}),
    ToolCall("probecal2", "probe_beta", {"two": "cobalt"}),
)
_RESULTS = (
    ToolResult("probecal1", (Text("result-one"),), name="probe_alpha"),
    ToolResult("probecal2", (Text("result-two"),), name="probe_beta"),
)


def _probe(family: Family, template: ChatTemplate) -> Ability:
    """Find out what a template says of tools, by having it say something."""
    asked = {"role": "user", "content": "question-one"}
    declared = _said(template, [asked], tools=True)
    tools = declared is not None and all(each.name in declared and each.description in declared for each in _TOOLS)
    answers = [
        {"role": "tool", "name": each.name, "tool_call_id": each.call_id, "content": each.text} for each in _RESULTS
    ]
    role = next((each for each in (family.results.role, "tool") if _keeps_role(template, asked, each)), "user")
    for text in (False, True):
        said = {"role": "assistant", "content": "", "tool_calls": [_call(each, text) for each in _CALLS]}
        whole = _said(template, [asked, said, *answers, {"role": "user", "content": "question-two"}], tools=True)
        if whole is not None and _reads_back(family, whole):
            where = [whole.find(each.text) for each in _RESULTS]
            return Ability(tools, True, -1 < where[0] < where[1], text, role)
    return Ability(tools, False, False, False, role)


def _keeps_role(template: ChatTemplate, asked: dict[str, Any], role: str) -> bool:
    turns = [asked, {"role": "assistant", "content": "answer-one"}, {"role": role, "content": "result-one"}]
    return "result-one" in (_said(template, turns, tools=False) or "")


def _said(template: ChatTemplate, turns: list[dict[str, Any]], *, tools: bool) -> str | None:
    try:
        return template.render(turns, [_function(each) for each in _TOOLS] if tools else ())
    except TemplateRefuses:
        return None


def _reads_back(family: Family, text: str) -> bool:
    """Whether both calls are in a prompt, as the family writes them."""
    start = text.rfind("question-one")
    found = Format(family, _TOOLS).parse(text[start + len("question-one") : text.rfind("question-two")])
    read = [each for each in found.message.calls if each.arguments is not None]
    return [each.name for each in read] == [each.name for each in _CALLS] and all(
        same(mine.arguments, theirs.arguments) for mine, theirs in zip(read, _CALLS, strict=True)
    )
