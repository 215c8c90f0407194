"""From messages to a prompt: the family's words for calls, inside the model's own chat template."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import msgspec

from counterfoil.models.local.extra import need
from counterfoil.models.local.gguf import Metadata
from counterfoil.text.embedded.family import Family
from counterfoil.types.error import ModelError
from counterfoil.types.message import Message, Text, ToolCall
from counterfoil.types.request import ToolSpec

_FUEL = 5_000_000
"""Instructions that a template may run: a file's template is somebody else's program."""


class Turn(msgspec.Struct, frozen=True):
    """One turn as chat templates know it."""

    role: str
    content: str


class Chat:
    """Renders conversations for one model.

    What people and tools wrote cannot end a turn or begin one: the model's control tokens are taken apart in it.
    """

    def __init__(self, metadata: Metadata, family: Family) -> None:
        minijinja = need("minijinja")
        self.family = family
        self._metadata = metadata
        # Longest first: a control token may contain another.
        self._control = sorted(metadata.control, key=len, reverse=True)
        self._failed: tuple[type[Exception], ...] = (minijinja.TemplateError, _TemplateRefuses)
        self._environment = minijinja.Environment(
            trim_blocks=True, lstrip_blocks=True, fuel=_FUEL, globals={"raise_exception": _raise}
        )

    def conversation(self, messages: Sequence[Message], tools: tuple[ToolSpec, ...]) -> str:
        """Render a whole conversation, calls and results in the family's words, ready for the next reply."""
        system = [message.text for message in messages if message.role == "system"]
        if tools:
            system.append(self.family.system(tools))
        turns = [Turn("system", "\n\n".join(system))] if system else []
        for message in messages:
            if message.role != "system":
                turns.extend(self._turns(message))
        return self.render(turns)

    def render(self, turns: Sequence[Turn]) -> str:
        """Render turns with the model's template, ready for the next reply."""
        plain = [{"role": turn.role, "content": self._harmless(turn.content)} for turn in _joined(turns)]
        try:
            return self._fill(plain)
        except self._failed as error:
            # Templates differ in the roles that they know; instructions can always stand in front of the first words.
            if plain and plain[0]["role"] == "system" and len(plain) > 1:
                first = f"{plain[0]['content']}\n\n{plain[1]['content']}"
                try:
                    return self._fill([{"role": "user", "content": first}, *plain[2:]])
                except self._failed:
                    pass
            raise ModelError(f"The chat template of {self._metadata.name} cannot be rendered: {error}") from error

    def _fill(self, turns: list[dict[str, str]]) -> str:
        text: str = self._environment.render_str(
            self._metadata.template,
            messages=turns,
            add_generation_prompt=True,
            # llama.cpp adds it where the model wants it.
            bos_token="",
            eos_token=self._metadata.eos,
        )
        return text

    def _turns(self, message: Message) -> list[Turn]:
        if message.results:
            return [Turn(self.family.result_role, self.family.result(result)) for result in message.results]
        parts = [
            block.text if isinstance(block, Text) else self.family.call(block)
            for block in message.blocks
            if isinstance(block, Text | ToolCall)
        ]
        return [Turn(message.role, self.family.separator.join(part for part in parts if part))]

    def _harmless(self, text: str) -> str:
        for token in self._control:
            if token in text:
                text = text.replace(token, f"{token[0]} {token[1:]}")
        return text


def _joined(turns: Sequence[Turn]) -> list[Turn]:
    # Many templates insist that user and assistant take turns: results of one turn are one user message.
    result: list[Turn] = []
    for turn in turns:
        if result and result[-1].role == turn.role:
            result[-1] = Turn(turn.role, f"{result[-1].content}\n{turn.content}")
        else:
            result.append(turn)
    return result


class _TemplateRefuses(Exception):
    """The template called `raise_exception`."""


def _raise(message: Any) -> str:
    raise _TemplateRefuses(str(message))
