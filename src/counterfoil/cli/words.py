"""Journal entries, calls and confirmations in words for people. Pure: values in, parts of lines out."""

from __future__ import annotations

import time
from datetime import datetime

from counterfoil.cli.inert import inert_json
from counterfoil.cli.output import Part
from counterfoil.gate.provenance.wording import lines
from counterfoil.run.run import Confirmation, Doubt
from counterfoil.types.entry import (
    Answered,
    Declassified,
    Doubted,
    Ended,
    Entry,
    Finished,
    Judged,
    Loaded,
    Opened,
    Planned,
    Said,
    Settled,
    Started,
)
from counterfoil.types.message import Media, Message, Text, ToolCall, ToolResult
from counterfoil.types.verdict import Allowed, Confirm, Verdict

GOOD, BAD, WAITS, DIM, NAME = "green", "red", "yellow", "dim", "bold cyan"


def call_parts(call: ToolCall) -> list[Part]:
    """A call as the model wrote it: its tool and the exact arguments."""
    if call.arguments is None:
        return [(call.name, NAME), " ", (call.raw or "", BAD), (f"  ({call.parse_error})", DIM)]
    return [(call.name, NAME), " ", inert_json(call.arguments)]


def verdict_parts(verdict: Verdict) -> list[Part]:
    """What the gate said."""
    match verdict:
        case Allowed(notes):
            noted = f"  ({'; '.join(notes)})" if notes else ""
            return [("allowed", GOOD), (noted, DIM)]
        case Confirm(reason, four_eyes):
            who = "somebody other than the requester" if four_eyes else "a person"
            return [("waits for " + who, WAITS), f": {reason}"]
        case _:
            return [(f"refused {verdict.code}", BAD), f"  {verdict.message}"]


def result_parts(result: ToolResult, limit: int = 400) -> list[Part]:
    """What the model reads as the result of a call."""
    pieces: list[str] = []
    for block in result.content:
        match block:
            case Text(text):
                pieces.append(text)
            case Media(media_type):
                pieces.append(f"[{media_type}]")
            case _:
                pieces.append("[a block of one provider's own]")
    text = "\n".join(pieces)
    if len(text) > limit:
        text = f"{text[:limit]}... ({len(text):,} characters)"
    return [(text, BAD if result.is_error and result.code is None else "")]


def card(confirmation: Confirmation) -> list[tuple[str, str]]:
    """A confirmation, as the person who answers must see it: for whom, what exactly, why it is asked, until when."""
    call = confirmation.call
    rows: list[tuple[str, str]] = [("requester", confirmation.requester), ("tool", call.name)]
    for number, (name, value) in enumerate((call.arguments or {}).items()):
        rows.append(("arguments" if number == 0 else "", f"{name} = {inert_json(value)}"))
    if not call.arguments:
        rows.append(("arguments", "none"))
    for number, line in enumerate(lines(confirmation.arguments)):
        rows.append(("origins" if number == 0 else "", line))
    rows.append(("asked because", confirmation.reason))
    if confirmation.four_eyes:
        rows.append(("approver", f"must not be {confirmation.requester}"))
    rows.append(("digest", confirmation.digest))
    rows.append(("expires", until(confirmation.expires_at)))
    return rows


def doubt_parts(doubt: Doubt) -> list[Part]:
    """A call in doubt."""
    return [(doubt.call.id + " ", DIM), *call_parts(doubt.call), (f"  in doubt: {doubt.reason}", WAITS)]


def entry_parts(entry: Entry) -> list[Part]:
    """One journal entry as one line (or a few, where a text has several)."""
    match entry:
        case Opened():
            return _opened(entry)
        case Loaded(messages, repairs):
            put_right = f"; put right: {'; '.join(repairs)}" if repairs else ""
            return [f"{len(messages)} earlier messages{put_right}"]
        case Said():
            return _said(entry)
        case Judged(call_id):
            return [(f"{call_id} ", DIM), *verdict_parts(entry.verdict)]
        case Answered(call_id):
            return [(f"{call_id} ", DIM), *_answered(entry)]
        case Started(call_id, effect, key):
            return [(f"{call_id} ", DIM), effect, (f"  key {key}", DIM)]
        case Finished(result, seconds):
            took = f"  {seconds * 1000:.1f}ms" if seconds is not None else ""
            return [(f"{result.call_id} ", DIM), *result_parts(result), (took, DIM)]
        case Doubted(call_id, reason):
            return [(f"{call_id} ", DIM), (f"in doubt: {reason}", WAITS)]
        case Settled(call_id, how, by):
            return [(f"{call_id} ", DIM), f"settled as {how} by {by}"]
        case Ended(outcome):
            return [(outcome.kind, WAITS), f"  {outcome.detail}"]
        case Planned(intents, by):
            meant = "; ".join([f"{each.tool} {inert_json(each.fixed)}" for each in intents]) or "nothing"
            return [("planned", GOOD), f" by {by}: {meant}"]
        case Declassified(call_id, by):
            return [(f"{call_id} ", DIM), f"{by} vouches for its result"]


def kind_of(entry: Entry) -> str:
    """The name of an entry's kind, as it stands in the journal."""
    return str(entry.__struct_config__.tag)


def message_parts(message: Message) -> list[Part]:
    """A message: prose, and the calls in it."""
    parts: list[Part] = []
    for block in message.blocks:
        if parts:
            parts.append("\n")
        match block:
            case Text(text):
                parts.append(text)
            case ToolCall():
                parts.extend([(f"{block.id} ", DIM), *call_parts(block)])
            case _:
                parts.append((f"[{type(block).__name__.lower()}]", DIM))
    return parts


def when(at: float) -> str:
    """A time of the journal, in local time."""
    return datetime.fromtimestamp(at).astimezone().strftime("%Y-%m-%d %H:%M:%S")


def until(expires_at: float | None) -> str:
    """When something expires, and how long that is from now."""
    if expires_at is None:
        return "never"
    left = expires_at - time.time()
    if left <= 0:
        return f"{when(expires_at)} (expired)"
    span = f"{left / 3600:.0f} hours" if left >= 5400 else f"{left / 60:.0f} minutes" if left >= 90 else f"{left:.0f} s"
    return f"{when(expires_at)} (in {span})"


def _opened(entry: Opened) -> list[Part]:
    held = ", ".join(sorted(entry.session.permissions)) or "nothing"
    asked = "one outside call" if entry.outside else f"model {entry.model}"
    judged = f", provenance {entry.provenance}" if entry.provenance else ""
    told = f"  {asked}, catalogue {entry.catalogue[:12]}{judged}"
    return [f"for {entry.session.requester}, who may {held}", (told, DIM)]


def _said(entry: Said) -> list[Part]:
    noted = f"  ({'; '.join(entry.notes)})" if entry.notes else ""
    return [(f"{entry.message.role}: ", DIM), *message_parts(entry.message), (noted, DIM)]


def _answered(entry: Answered) -> list[Part]:
    if entry.expired:
        return [("expired", BAD), ": nobody answered in time"]
    said: Part = ("approved", GOOD) if entry.approved else ("declined", BAD)
    edited = f", with {inert_json(entry.arguments)}" if entry.arguments is not None else ""
    reason = f": {entry.reason}" if entry.reason else ""
    return [said, f" by {entry.by}{edited}{reason}"]
