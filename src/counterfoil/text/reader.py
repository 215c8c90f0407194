"""Read a reply as it arrives: prose, reasoning, and the calls of one family."""

from __future__ import annotations

import re
from collections.abc import Sequence

from counterfoil.text.blocks import Blocks
from counterfoil.text.cast import Schemas
from counterfoil.text.family import Family
from counterfoil.text.grammars.grammar import Here, tokens
from counterfoil.text.source import Source, Wait, markers
from counterfoil.types.request import ToolSpec
from counterfoil.types.stream import ReplyStart, ReplyStop, StreamEvent

_FENCES = ("```", "~~~")
_MORE = {fence: re.compile(re.escape(fence[0]) + "*") for fence in _FENCES}


class Reader:
    """Reads one reply. `feed` it text, cut anywhere; `close` it once. The fold of all events is the reply.

    `tools` say what the values of a call are; `thinking` says that the prompt has already begun the reasoning.
    """

    def __init__(self, family: Family, tools: Sequence[ToolSpec] | Schemas = (), thinking: bool = False) -> None:
        self._family = family
        self._src = Source()
        self._out = Blocks(family.gap)
        schemas = tools if isinstance(tools, Schemas) else Schemas(tools)
        self._here = Here(self._src, self._out, schemas, family.stop, markers(*family_marks(family)))
        self._kinds = _kinds(family)
        self._lines = {mark for mark, line in family.calls.openers().items() if line}
        self._wrong = {wrong: right for wrong, right in family.calls.misspelt().items() if wrong not in self._kinds}
        self._started = False
        self._reading = self._read(thinking)

    def feed(self, piece: str) -> list[StreamEvent]:
        """Take more text; returns what is certain by now."""
        self._src.feed(piece)
        return self._go_on()

    def close(self) -> list[StreamEvent]:
        """No more text comes: what was held back is said, and a call that was cut off is one that cannot be run."""
        self._src.ended = True
        events = self._go_on()
        events.append(ReplyStop("tool_calls" if self._out.calls else "end"))
        return events

    def _go_on(self) -> list[StreamEvent]:
        next(self._reading, None)
        events = self._out.take()
        if not self._started:
            self._started = True
            events.insert(0, ReplyStart())
        return events

    def _read(self, thinking: bool) -> Wait[None]:
        src, out, calls = self._src, self._out, self._family.calls
        if thinking:
            yield from self._reason(inside=True)
        yield from calls.start(self._here)
        marks = markers(*self._kinds, *self._wrong)
        while (mark := (yield from src.until(marks, out.text))) is not None:
            kind = self._kinds.get(mark, "wrong")
            quoted = out.last == "`" and not calls.reads_all
            if kind == "fence":
                yield from self._fence(mark)
            elif kind == "stop":
                yield from self._stop(mark)
            elif quoted or (mark in self._lines and not out.line_blank):
                out.text(mark)
            elif kind == "reasoning":
                yield from self._reason()
            elif kind == "answer":
                out.apart()
            elif kind == "answered":
                out.end_said()
            else:
                opener = self._wrong.get(mark, mark) if kind == "wrong" else mark
                back = yield from calls.read(self._here, mark, mark == opener)
                out.settle()
                out.text(back)
        out.end_said()

    def _reason(self, inside: bool = False) -> Wait[None]:
        """Read reasoning, behind its opener: nothing in it is a call."""
        src, out, marks = self._src, self._out, self._family.reasoning
        out.end_said()
        before = marks.open[len(marks.open.rstrip()) :]
        yield from src.next_of(markers(before))
        closing = marks.close.strip()
        found = yield from src.until(markers(closing), out.reasoning)
        out.end_said(marks.close[: len(marks.close) - len(marks.close.lstrip())])
        out.line_blank, out.last = True, ""
        if found is not None:
            yield from src.next_of(markers(*(marks.after[:count] for count in range(1, len(marks.after) + 1))))

    def _fence(self, mark: str) -> Wait[None]:
        """Read a block of code, behind the beginning of its fence: nothing in it is a call."""
        src, out = self._src, self._out
        opens = out.line_blank
        out.text(mark)
        more: list[str] = []
        yield from src.skip(_MORE[mark], more.append)
        length = len(mark) + sum(map(len, more))
        out.text("".join(more))
        if not opens:
            return
        # A fence has no backtick behind it in its line; with one, it was a span of code.
        found = yield from src.until(markers("\n", mark[0]), out.text)
        out.text(found or "")
        while found == "\n":
            end = yield from src.until(markers(mark), out.text)
            closes = out.line_blank
            out.text(end or "")
            more.clear()
            yield from src.skip(_MORE[mark], more.append)
            out.text("".join(more))
            if end is None or (closes and len(mark) + sum(map(len, more)) >= length):
                return

    def _stop(self, mark: str) -> Wait[None]:
        """Read a stop string: the end of a reply, or, when more follows, a part of its text."""
        held = [mark]
        while True:
            yield from self._src.blank(held.append)
            if (yield from self._src.peek()) == "":
                return
            found = yield from self._src.next_of(markers(*self._family.stop))
            if found is None:
                break
            held.append(found)
        self._out.text("".join(held))


def family_marks(family: Family) -> tuple[str, ...]:
    """Every marker of a family: what its readers look for, and a string may not contain as it is."""
    marks = family.reasoning, family.answer
    own = [part for each in marks for literal in (each.open, each.close) for part in tokens(literal)]
    found = (*family.calls.marks(), *own, *family.stop)
    return tuple(dict.fromkeys(mark for mark in found if len(mark) > 1 and not mark.isalnum()))


def _kinds(family: Family) -> dict[str, str]:
    """What each marker in prose begins."""
    kinds: dict[str, str] = dict.fromkeys(_FENCES, "fence")
    kinds |= dict.fromkeys(family.stop, "stop")
    if not family.calls.reads_all:
        kinds[family.reasoning.open.strip()] = "reasoning"
        kinds[family.answer.open] = "answer"
        # Where the same marker opens calls, a name goes on behind it: >>>all is not >>>allocate.
        if not family.answer.open.startswith(tuple(filter(None, family.calls.openers()))):
            kinds[family.answer.open.strip()] = "answer"
        kinds |= dict.fromkeys((family.answer.close, family.answer.close.strip()), "answered")
    kinds |= dict.fromkeys(family.calls.openers(), "call")
    kinds.pop("", None)
    return kinds
