"""Tells a run while it happens: the model's words as they come, each call, its verdict, its result."""

from __future__ import annotations

from counterfoil.cli.output import Output, Part
from counterfoil.cli.words import BAD, DIM, NAME, WAITS, call_parts, meant, result_parts, verdict_parts
from counterfoil.run.event import Event, Progress
from counterfoil.types.entry import Doubted, Ended, Finished, Judged, Planned, Said, Settled
from counterfoil.types.message import Text, ToolCall
from counterfoil.types.stream import BlockDelta, BlockStart, BlockStop, ReplyStart

SPEAKER = "model> "
SLOW = 0.1
"""From how many seconds on it is worth saying how long a call took."""


class Teller:
    """A `watch` for `Harness.run`, `stream` and `resume`."""

    def __init__(self, output: Output, *, indent: int = 2) -> None:
        self._out = output
        self._indent = indent
        self._prose = max(0, indent - 2)
        self._streamed = False
        self._live = ""
        """What is being streamed: `text`, `call`, or nothing."""
        self._asks, self._gives = output.glyph("→", "->"), output.glyph("←", "<-")

    def take(self, event: Event) -> None:
        """Tell one event."""
        match event:
            case ReplyStart():
                self._streamed = True
            case BlockStart(_, Text()):
                self._begin("text")
                self._out.live(SPEAKER, "bold", self._prose)
            case BlockStart(_, ToolCall(_, name)):
                self._begin("call")
                self._out.live(f"{self._asks} ", DIM, self._indent)
                self._out.live(f"{name} ", NAME)
            case BlockDelta(_, text) if self._live:
                self._out.live(text, indent=self._indent)
            case BlockStop():
                self._live = ""
                self._out.end_live()
            case Progress(_, message, fraction):
                part = f" {fraction:.0%}" if fraction is not None else ""
                self._say([(f"{message}{part}", DIM)], 4)
            case _:
                self._entry(event)

    def _begin(self, what: str) -> None:
        self._out.end_live()
        self._live = what

    def _entry(self, event: Event) -> None:
        match event:
            case Said(message) if message.role == "assistant":
                if not self._streamed:
                    for call in message.calls:
                        self._say([(f"{self._asks} ", DIM), *call_parts(call)])
                    if message.text:
                        self._out.say((SPEAKER, "bold"), message.text, indent=self._prose)
                for call in message.calls:
                    if call.parse_error is not None:
                        self._say([(call.parse_error, BAD)], 4)
                self._streamed = False
            case Judged(call_id, verdict):
                self._say([(f"{call_id}  ", DIM), *verdict_parts(verdict)], 2)
            case Finished(result, seconds):
                took = f"  {seconds:.1f}s" if seconds is not None and seconds >= SLOW else ""
                sign: Part = (f"{result.call_id} {self._gives} ", DIM)
                self._say([sign, *result_parts(result), (took, DIM)], 2)
            case Doubted(call_id, reason):
                self._say([(f"{call_id}  ", DIM), (f"in doubt: {reason}", WAITS)], 2)
            case Planned(by_model=True):
                self._say([("means to call  ", DIM), meant(event)])
            case Settled(call_id, how, by):
                self._say([(f"{call_id}  ", DIM), f"settled as {how} by {by}"], 2)
            case Ended(outcome):
                self._say([(outcome.kind, BAD if outcome.kind == "failed" else WAITS), f"  {outcome.detail}"])
            case _:
                pass

    def _say(self, parts: list[Part], more: int = 0) -> None:
        self._out.say(*parts, indent=self._indent + more)
