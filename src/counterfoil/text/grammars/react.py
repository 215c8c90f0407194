"""Thoughts and actions on labelled lines (Yao et al. 2022), in the paper's form and in the common one."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any, Literal

from counterfoil.text.cast import Schemas, cast
from counterfoil.text.grammars.grammar import Grammar, Here, Unwritable, broken, name_error, written
from counterfoil.text.jsontext import value
from counterfoil.text.source import Markers, Sink, Wait, markers
from counterfoil.types.json import read_object
from counterfoil.types.message import ToolCall

_NUMBER = re.compile(r"[^\S\n]{0,3}\d{0,6}[^\S\n]{0,3}:")
_LABEL = re.compile(
    r"[^\S\n]{0,3}(?:(?:Thought|Action Input|Action|Observation|Final Answer)[^\S\n]{0,3}\d{0,6}[^\S\n]{0,3}:)"
)
_LABEL_LINE = re.compile(
    r"^[^\S\n]{0,3}(Thought|Action Input|Action|Observation|Final Answer)[^\S\n]{0,3}\d{0,6}[^\S\n]{0,3}:", re.MULTILINE
)
_LOOK = 40
_INLINE = re.compile(r"[^\S\n]*")
_LINE = markers("\n")
_FINISH = "Finish"


class ReactCalls(Grammar, frozen=True, kw_only=True, tag="react"):
    """`Action: f` and `Action Input: {...}`, or `Action: f[text]` and `Finish[answer]`: either reads both.

    In brackets stands the text of a tool's only parameter, or a JSON object.
    """

    form: Literal["input", "brackets"] = "input"

    @property
    def answer(self) -> tuple[str, str]:
        """What the final answer is written between."""
        return ("Action: Finish[", "]") if self.form == "brackets" else ("Final Answer: ", "")

    @property
    def reads_all(self) -> bool:
        """Prose and reasoning stand between markers of its own."""
        return True

    def openers(self) -> dict[str, bool]:
        """The markers that begin calls."""
        return dict.fromkeys(("Thought", "Action", "Observation", "Final Answer"), True)

    def misspelt(self) -> dict[str, str]:
        """The other spellings that are understood."""
        return {}

    def marks(self) -> tuple[str, ...]:
        """Every marker."""
        return ()

    def read(self, here: Here, opener: str, exact: bool) -> Wait[str]:
        """Read on behind an opener."""
        src, out = here.src, here.out
        if not (yield from src.ahead(_NUMBER, _LOOK)):
            return opener
        number: list[str] = []
        yield from src.until(markers(":"), number.append)
        raw = [*number, ":"]
        if opener == "Action":
            yield from self._action(here, raw)
            return ""
        space = yield from src.next_of(markers(" "))
        if opener == "Thought":
            out.end_said("\n")
            yield from _to_label(here, out.reasoning)
            out.end_said()
        elif opener == "Final Answer":
            out.end_said("\n")
            out.apart()
        else:
            held = [opener, *raw, space or ""]
            yield from src.until(markers(), held.append)
            out.end_said("\n")
            if "".join(held[len(raw) + 1 :]).strip():  # invented: nothing in it is a call
                out.text("".join(held))
        out.line_blank = opener == "Thought"
        return ""

    def _action(self, here: Here, raw: list[str]) -> Wait[None]:
        src, out = here.src, here.out
        line: list[str] = []
        found = yield from src.until(markers("\n", "["), line.append)
        name = "".join(line).strip()
        raw.extend([*line, found or ""])
        if found == "[":
            yield from self._bracketed(here, name, raw)
            return
        error = name_error(name)
        yield from src.blank(raw.append)
        if error is None and (yield from src.ahead(re.compile("Action Input" + _NUMBER.pattern), _LOOK)):
            yield from src.until(markers(":"), raw.append)
            raw.append(":")
            yield from self._input(here, name, raw)
            return
        if found is not None and not (yield from src.ahead(_LABEL, _LOOK)):
            yield from _to_label(here, raw.append)
        out.call("" if error else name, None, "".join(raw), error or f"there is no Action Input behind {name}")

    def _bracketed(self, here: Here, name: str, raw: list[str]) -> Wait[None]:
        rest: list[str] = []
        ended = (yield from here.src.until(_LINE, rest.append)) is not None
        text = "".join(rest).rstrip()
        if name == _FINISH and text.endswith("]"):
            here.out.end_said("\n")
            here.out.apart()
            here.out.text(text[:-1])
            here.out.end_said()
            here.out.apart()
            return
        raw.extend(rest)
        error = name_error(name)
        inner, known = text[:-1], here.schemas.properties(name)
        arguments = _object(inner) if known else read_object(inner.strip() or "{}")[0]
        whole = ended or arguments is not None or inner.count("[") == inner.count("]")
        if error is None and not (text.endswith("]") and whole):
            error = "cut off before the closing ]"
        elif error is None and inner.startswith("{") and arguments is None:
            error = read_object(inner)[1]
        if error is not None:
            here.out.call("" if name_error(name) else name, None, "".join(raw), error)
            return
        if arguments is not None:
            here.out.call(name, arguments, "".join(raw))
        else:
            single(here, name, inner, "".join(raw))

    def _input(self, here: Here, name: str, raw: list[str]) -> Wait[None]:
        src, out = here.src, here.out
        yield from src.blank(raw.append)
        parts: list[str] = []
        if (yield from src.peek()) != "{":
            ended = (yield from src.ahead(_LABEL, _LOOK)) or (yield from _to_label(here, parts.append))
            text = "".join(parts).strip()
            whole = "".join([*raw, *parts])
            if ended and text:
                single(here, name, text, whole)
            else:
                out.call(
                    name, None, whole, "cut off: plain text as input ends with its line" if text else read_object("")[1]
                )
            return
        out.begin(name)

        def take(text: str) -> None:
            parts.append(text)
            out.delta(text)

        how = yield from value(src, markers(), take)
        rest: list[str] = []
        yield from src.skip(_INLINE, rest.append)
        following = yield from src.peek()
        if how == "whole" and following in ("", "\n"):
            arguments, error = read_object("".join(parts))
            out.end(arguments, "".join([*raw, *parts]), error)
            return
        yield from _to_label(here, rest.append)
        text = "".join([*parts, *rest])
        out.end(None, "".join(raw) + text, read_object(text)[1] or "there is text behind the arguments")

    def prose(self, text: str, answer: tuple[str, str], after: str, last: bool) -> str:
        """Write prose."""
        if not last and after != "reasoning":
            return text
        before, behind = self.answer if "\n" not in text else ("Final Answer: ", "")
        return f"{before}{text}{behind}"

    def write(self, calls: Sequence[ToolCall], schemas: Schemas, shielded: Markers) -> str:
        """Write the calls of one stretch."""
        parts: list[str] = []
        for call in calls:
            if call.arguments is None:
                parts.append(f"Action{broken(call)}")
            elif name_error(call.name):
                raise Unwritable(f"{call.name!r} cannot be written as an action: choose letters, digits, _ and -")
            elif self.form == "brackets":
                parts.append(f"Action: {call.name}[{_inner(call, schemas, shielded)}]")
            else:
                parts.append(f"Action: {call.name}\nAction Input: {written(call, shielded)}")
        return "\n".join(parts)

    def halts(self) -> tuple[str, ...]:
        """Where generation has to stop."""
        return ("\nObservation",)

    def halted(self, text: str) -> str:
        """What has to be put back: the line break behind an action, without which it may be cut off."""
        last = ""
        for found in _LABEL_LINE.finditer(text):
            last = found[1]
        return "\n" if last.startswith("Action") else ""


def _object(text: str) -> dict[str, Any] | None:
    return read_object(text)[0] if text.startswith("{") else None


def _inner(call: ToolCall, schemas: Schemas, shielded: Markers) -> str:
    """What stands in the brackets of a call."""
    held = only_text(call, schemas)
    # What holds a bracket could be cut off at it.
    plain = held is not None and not {"\n", "]"} & set(held) and not held.startswith("{")
    if held is not None and plain and not shielded.pattern.search(held):
        return held
    return written(call, shielded)


def only_text(call: ToolCall, schemas: Schemas) -> str | None:
    """The text of a call that has nothing but one, where that is all that its tool takes."""
    held = [each for each in (call.arguments or {}).values() if isinstance(each, str)]
    if (
        len(call.arguments or {}) == len(held) == 1
        and call.name not in schemas.assumed
        and schemas.properties(call.name) == list(call.arguments or {})
        and schemas.types(call.name, next(iter(call.arguments or {}))) == ("string",)
    ):
        return held[0]
    return None


def _to_label(here: Here, sink: Sink) -> Wait[bool]:
    """Read to the line break before the next label, or to the end; whether the last line is whole."""
    while (yield from here.src.until(_LINE, sink)) is not None:
        if (yield from here.src.ahead(_LABEL, _LOOK)):
            here.out.line_blank = True
            return True
        sink("\n")
        if not (yield from here.src.peek()):
            return True
    return False


def single(here: Here, name: str, text: str, raw: str) -> None:
    """A call whose input is plain text: the value of the only parameter that the tool has."""
    keys = here.schemas.properties(name) if name in here.schemas else ["input"]
    if len(keys) != 1:
        wanted = ", ".join(keys) or "nothing"
        here.out.call(name, None, raw, f"expected a JSON object: {name} takes {wanted}, and plain text can be only one")
        return
    types = here.schemas.types(name, keys[0]) if name in here.schemas else ("string",)
    here.out.values(name, {keys[0]: cast(text, types)}, raw)
