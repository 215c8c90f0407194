"""Messages on channels: reasoning, calls to a recipient, and what the user reads."""

from __future__ import annotations

import re
from collections.abc import Sequence

from counterfoil.text.cast import Schemas
from counterfoil.text.grammars.grammar import Grammar, Here, Unwritable, broken, name_error, written
from counterfoil.text.jsontext import value
from counterfoil.text.source import Markers, Wait, markers
from counterfoil.types.json import read_object
from counterfoil.types.message import ToolCall

START, CHANNEL, MESSAGE, CONSTRAIN = "<|start|>", "<|channel|>", "<|message|>", "<|constrain|>"
CALL, END, RETURN = "<|call|>", "<|end|>", "<|return|>"
_TO = re.compile(r"\bto=(\S+)")
_ENDS = (END, CALL, RETURN, START, CHANNEL)


class HarmonyCalls(Grammar, frozen=True, kw_only=True, tag="harmony"):
    """`<|channel|>commentary to=functions.f<|message|>{}<|call|>`: every message says its channel and its recipient."""

    namespace: str = "functions."
    analysis: str = "analysis"

    @property
    def reads_all(self) -> bool:
        """Prose and reasoning stand between markers of its own."""
        return True

    def openers(self) -> dict[str, bool]:
        """The markers that begin calls."""
        return {START: False, CHANNEL: False}

    def misspelt(self) -> dict[str, str]:
        """The other spellings that are understood."""
        return {}

    def marks(self) -> tuple[str, ...]:
        """Every marker."""
        return (START, CHANNEL, MESSAGE, CONSTRAIN, CALL, END, RETURN)

    def read(self, here: Here, opener: str, exact: bool) -> Wait[str]:
        """Read on behind an opener."""
        src = here.src
        head = [opener]
        while True:
            found = yield from src.until(markers(MESSAGE, CONSTRAIN, CHANNEL, CALL, END, RETURN), head.append)
            head.append(found or "")
            if found not in (CONSTRAIN, CHANNEL):
                break
        header = "".join(head)
        recipient = _TO.search(header.replace("<", " <"))
        if found != MESSAGE:
            if recipient is not None:
                here.out.call("", None, header[len(opener) :], f"there is a header and no {MESSAGE} behind it")
                return ""
            return header
        _, _, channel = header.rpartition(CHANNEL)
        kind = re.split(r"[^\w]", channel.strip(), maxsplit=1)[0] if CHANNEL in header else "final"
        if recipient is not None and not recipient[1].startswith("user"):
            yield from self._call(here, recipient[1], header)
        elif kind == self.analysis:
            here.out.end_said()
            found = yield from src.until(markers(*_ENDS), here.out.reasoning)
            here.out.end_said()
            self._back(here, found)
        else:
            found = yield from src.until(markers(*_ENDS), here.out.text)
            self._back(here, found)
        return ""

    def _back(self, here: Here, found: str | None) -> None:
        if found in (START, CHANNEL):
            here.src.at -= len(found)

    def _call(self, here: Here, recipient: str, header: str) -> Wait[None]:
        src, out = here.src, here.out
        name = recipient.removeprefix(self.namespace)
        raw = [header[header.index(CHANNEL) + len(CHANNEL) :] if CHANNEL in header else header]
        wrong = name_error(name)
        out.begin("" if wrong else name)
        yield from src.blank(raw.append)
        parts: list[str] = []
        streamed = wrong is None and (yield from src.peek()) == "{"

        def take(text: str) -> None:
            parts.append(text)
            if streamed:
                out.delta(text)

        ends = markers(*_ENDS)
        how = yield from value(src, ends, take)
        body = list(parts)
        yield from src.blank(body.append)
        found = yield from src.until(ends, body.append)
        text = "".join(body)
        arguments, error = read_object(text)
        if how != "whole" and error is None:
            arguments, error = None, "the arguments are broken"
        self._back(here, found)
        closed = found or ""
        raw.extend([text, "" if closed in (START, CHANNEL) else closed])
        out.end(None if wrong else arguments, "".join(raw), wrong or error)
        if found != CALL and error is None:
            out.note(f"the closing {CALL} is missing")

    def write(self, calls: Sequence[ToolCall], schemas: Schemas, shielded: Markers) -> str:
        """Write the calls of one stretch."""
        parts: list[str] = []
        for call in calls:
            if call.arguments is None:
                parts.append(f"{START}assistant{CHANNEL}{broken(call)}")
                continue
            if name_error(call.name) or shielded.pattern.search(call.name):
                raise Unwritable(f"{call.name!r} cannot be written as a recipient: choose letters, digits, _ and -")
            parts.append(
                f"{START}assistant{CHANNEL}commentary to={self.namespace}{call.name} {CONSTRAIN}json{MESSAGE}"
                f"{written(call, shielded)}{CALL}"
            )
        return "".join(parts)
