"""Ways that a reply can take: written in a format and read back, whole and as a stream cut into small pieces."""

from __future__ import annotations

import difflib
import re
from collections.abc import Iterable, Sequence
from typing import Protocol

import msgspec

from counterfoil import dialects, text, wires
from counterfoil.cli.problem import Problem
from counterfoil.dialects import Dialect
from counterfoil.models.framing import ENDS, FRAMES, decode, write_frame
from counterfoil.models.hosts import HOSTS, Framing
from counterfoil.types.message import Block, Message, Text, ToolCall
from counterfoil.types.request import Reply, Request, ToolSpec
from counterfoil.types.stream import ReplyFold, events_of, fold
from counterfoil.wires.wire import Plan, Wire
from evals.bfcl.data import Calls
from evals.bfcl.lowered import Unsayable, say
from evals.bfcl.oracle import PROSE

CHUNK = 61
"""Bytes of a stream that come at a time: a prime, so that the cuts fall everywhere."""
CHARACTERS = 7
"""The same for text."""
_FRAMINGS: dict[str, Framing] = {host.wire: host.framing for host in HOSTS.values()}


class Changed(Exception):
    """What came back whole and what came back as a stream are not the same."""


class Way(Protocol):
    """One format."""

    @property
    def name(self) -> str:
        """What it is called on the command line."""
        ...

    def take(self, calls: Calls, messages: Sequence[Message], tools: tuple[ToolSpec, ...]) -> Calls:
        """Write the calls that a model made of a request, and read them back.

        Raises `Unsayable` where the format has no words for them, `Changed` where the two ways of reading differ.
        """
        ...


class Direct:
    """No format at all: what the ground truth itself is worth to the checker."""

    name = "direct"

    def take(self, calls: Calls, messages: Sequence[Message], tools: tuple[ToolSpec, ...]) -> Calls:
        """Nothing is changed."""
        return calls


class OverWire:
    """A provider's JSON: the names as its plan renames them, in the bytes that its framing makes of a stream."""

    def __init__(self, wire: Wire) -> None:
        self.name = wire.NAME
        self._wire = wire

    def take(self, calls: Calls, messages: Sequence[Message], tools: tuple[ToolSpec, ...]) -> Calls:
        """Write and read a reply and a stream."""
        wire = self._wire
        plan = wire.write_request(Request(tuple(messages), tools, model="oracle")).plan
        theirs = {ours: name for name, ours in plan.names.items()}
        said = reply([(theirs.get(name, name), arguments) for name, arguments in calls])
        body = msgspec.json.encode(wire.write_reply(said))
        whole = calls_of(wire.read_reply(decode(body, "the reply"), plan))
        streamed = calls_of(self._streamed(said, plan))
        if streamed != whole:
            raise Changed(f"whole: {whole}; as a stream: {streamed}")
        return whole

    def _streamed(self, said: Reply, plan: Plan) -> Reply:
        framing = _FRAMINGS[self.name]
        frames = [write_frame(framing, event) for event in self._wire.write_stream(events_of(said))]
        data = b"".join(frames) + ENDS.get(self.name, b"")
        frame = FRAMES[framing]()
        pieces = (data[at : at + CHUNK] for at in range(0, len(data), CHUNK))
        events = [event for piece in pieces for event in frame.feed(piece) if event is not None]
        return fold(self._wire.read_stream(events, plan))


class Lowered:
    """A strict mode: arguments as the lowered schema has them, and its plan to read them back."""

    def __init__(self, dialect: Dialect) -> None:
        self.name = dialect.name
        self._dialect = dialect

    def take(self, calls: Calls, messages: Sequence[Message], tools: tuple[ToolSpec, ...]) -> Calls:
        """Say each call as the lowered schema wants it, and reverse it."""
        lowered = self._dialect.lower(tools)
        schemas = {tool.name: tool.parameters for tool in lowered.tools}
        found: Calls = []
        for name, arguments in calls:
            theirs = say(arguments, schemas[name], lowered.plans[name])
            found.append((name, lowered.reverse(name, theirs)))
        return found


class AsText:
    """A family's text."""

    def __init__(self, name: str) -> None:
        self.name = name

    def take(self, calls: Calls, messages: Sequence[Message], tools: tuple[ToolSpec, ...]) -> Calls:
        """Write the text and read it, whole and in pieces: under the tools' own names, or cleaned ones if it must."""
        try:
            return self._taken(calls, tools)
        except Unsayable:
            names = cleaned([tool.name for tool in tools])
            if all(ours == theirs for ours, theirs in names.items()):
                raise
        # Some families have no dots in names.
        renamed = tuple(msgspec.structs.replace(tool, name=names[tool.name]) for tool in tools)
        ours = {theirs: name for name, theirs in names.items()}
        read = self._taken([(names[name], arguments) for name, arguments in calls], renamed)
        return [(ours.get(name, name), arguments) for name, arguments in read]

    def _taken(self, calls: Calls, tools: tuple[ToolSpec, ...]) -> Calls:
        form = text.get(self.name, tools)
        try:
            said = form.render(reply(calls))
        except text.Unwritable as error:
            raise Unsayable(str(error)) from None
        whole = calls_of(form.parse(said))
        reader, adding = form.reader(), ReplyFold()
        for at in range(0, len(said), CHARACTERS):
            for event in reader.feed(said[at : at + CHARACTERS]):
                adding.add(event)
        for event in reader.close():
            adding.add(event)
        if (streamed := calls_of(adding.reply)) != whole:
            raise Changed(f"whole: {whole}; in pieces: {streamed}")
        return whole


def cleaned(names: Sequence[str]) -> dict[str, str]:
    """Names of letters, digits, `_` and `-` only: one each, and no two the same."""
    found = {name: name for name in names if _PLAIN.fullmatch(name)}
    for name in names:
        short = _FOREIGN.sub("_", name)[:60]
        tries = (short, *(f"{short}_{number}" for number in range(2, len(names) + 2)))
        if name not in found:
            found[name] = next(each for each in tries if each not in found.values())
    return found


_FOREIGN = re.compile(r"[^A-Za-z0-9_-]")
_PLAIN = re.compile(r"[A-Za-z0-9_-]{1,64}")


def reply(calls: Calls) -> Reply:
    """What the model that is always right says."""
    blocks: list[Block] = [
        ToolCall(f"call{index:05d}", name, arguments) for index, (name, arguments) in enumerate(calls)
    ]
    return Reply(Message("assistant", tuple(blocks or [Text(PROSE)])), "tool_calls" if calls else "end", model="oracle")


def calls_of(answer: Reply) -> Calls:
    """The calls of a reply. Raises `Changed` for one that was not read."""
    found: Calls = []
    for call in answer.message.calls:
        if call.arguments is None:
            raise Changed(f"{call.name} was read as broken: {call.parse_error}")
        found.append((call.name, call.arguments))
    return found


_GROUPS = ("wires", "dialects", "families", "all")


def ways(names: Iterable[str]) -> list[Way]:
    """The ways of some names. Raises `Problem` for a name that is none."""
    every: dict[str, list[Way]] = {
        "direct": [Direct()],
        "wires": [OverWire(wires.get(name)) for name in wires.names()],
        "dialects": [Lowered(dialects.get(name)) for name in dialects.names()],
        "families": [AsText(name) for name in text.names()],
    }
    every["all"] = [way for each in list(every.values()) for way in each]
    known: dict[str, Way] = {way.name: way for way in every["all"]}
    found: dict[str, Way] = {}
    for name in names:
        if name in known:
            found[name] = known[name]
        elif name in every:
            found |= {way.name: way for way in every[name]}
        else:
            near = difflib.get_close_matches(name, [*known, *every], 3, 0.4) or list(_GROUPS)
            raise Problem(
                f"--through {name}: no wire, dialect or text family is called that. Did you mean {' or '.join(near)}? "
                f"Groups are {', '.join(_GROUPS)}; single ones are {', '.join(known)}"
            )
    return list(found.values())


def same(first: Calls, second: Calls) -> bool:
    """Whether calls are the same to the last bit: 1 is not 1.0, and not true."""
    return _exact(first) == _exact(second)


def _exact(calls: Calls) -> bytes:
    return msgspec.json.encode([[name, arguments] for name, arguments in calls], order="sorted")
