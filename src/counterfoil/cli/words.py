"""Journal entries, calls and confirmations in words for people. Pure: values in, parts of lines out."""

from __future__ import annotations

import time
from collections.abc import Sequence
from datetime import datetime

from counterfoil.cli.inert import inert, inert_json
from counterfoil.cli.output import Part
from counterfoil.gate.provenance.wording import lines
from counterfoil.run.run import Confirmation, Doubt, batch_digest, why
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
from counterfoil.types.label import Label
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


def result_text(result: ToolResult) -> str:
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
    return "\n".join(pieces)


def result_parts(result: ToolResult, limit: int = 400) -> list[Part]:
    """The same, or the beginning of it."""
    text = result_text(result)
    if len(text) > limit:
        text = f"{text[:limit]}... ({len(text):,} characters)"
    return [(text, BAD if result.is_error and result.code is None else "")]


def card(confirmation: Confirmation) -> list[tuple[str, str]]:
    """A confirmation, as the person who answers must see it: for whom, what exactly, why it is asked, until when."""
    rows = [("requester", confirmation.requester), ("tool", confirmation.call.name), *_under(_facts(confirmation))]
    return [*rows, ("asked because", why(confirmation)), *_terms([confirmation])]


def batch_cards(batch: Sequence[Confirmation]) -> tuple[list[tuple[str, str]], list[list[tuple[str, str]]]]:
    """A batch of several, as the person who answers must see it: what holds for all, and what differs, call by call.

    The two together say of each call what its own card does.
    """
    facts = [_facts(each) for each in batch]
    common = [fact for fact in facts[0] if all(fact in other for other in facts)]
    first = batch[0]
    head = [("requester", first.requester), ("tool", first.call.name), ("calls", f"{len(batch)} of them, alike")]
    head += [("in all", value) for _, value in common]
    head += [("asked because", why(first)), *_terms(batch)]
    calls = [[value for label, value in said if (label, value) not in common] for said in facts]
    return _under(head), [
        _under([(each.call.id, value) for value in differs or ["nothing differs"]])
        for each, differs in zip(batch, calls, strict=True)
    ]


def _facts(confirmation: Confirmation) -> list[tuple[str, str]]:
    """The exact arguments, and where each came from where that is the matter."""
    given = [
        ("arguments", f"{name} = {inert_json(value)}") for name, value in (confirmation.call.arguments or {}).items()
    ]
    return [*(given or [("arguments", "none")]), *[("origins", line) for line in lines(confirmation.arguments)]]


def _terms(batch: Sequence[Confirmation]) -> list[tuple[str, str]]:
    """Who may answer, what the answer is bound to, until when."""
    first = batch[0]
    whoever = [("approver", f"must not be {first.requester}")] if first.four_eyes else []
    ends = min((each.expires_at for each in batch if each.expires_at is not None), default=None)
    return [*whoever, ("digest", batch_digest(batch)), ("expires", until(ends))]


def _under(rows: list[tuple[str, str]]) -> list[tuple[str, str]]:
    """The same rows, each label said once."""
    return [
        ("" if number and rows[number - 1][0] == label else label, value) for number, (label, value) in enumerate(rows)
    ]


def label_words(label: Label | None) -> str:
    """What is known of who wrote a text and who may read it."""
    if label is None:
        return "untrusted"
    told = f"{label.integrity}, from {label.source}" if label.source else label.integrity
    if label.readers is not None:
        told += f"; only for {', '.join(sorted(label.readers)) or 'nobody'}"
    return f"{told}; secret" if label.secret else told


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
            kept = "" if entry.handle is None else f"\n{entry.handle.name} = {inert(entry.handle.beginning)}"
            return [(f"{result.call_id} ", DIM), *result_parts(result), (took, DIM), (kept, DIM)]
        case Doubted(call_id, reason):
            return [(f"{call_id} ", DIM), (f"in doubt: {reason}", WAITS)]
        case Settled(call_id, how, by):
            return [(f"{call_id} ", DIM), f"settled as {how} by {by}"]
        case Ended(outcome):
            return [(outcome.kind, WAITS), f"  {outcome.detail}"]
        case Planned():
            return [("planned", GOOD), f" by {entry.by}: {meant(entry)}"]
        case Declassified(call_id, by):
            return [(f"{call_id} ", DIM), f"{by} vouches for its result"]


def meant(plan: Planned) -> str:
    """The calls of a plan, with what is fixed in each and what is open."""
    calls = [
        f"{each.tool} {inert_json(each.fixed)}" + (f" and some {', '.join(each.open)}" if each.open else "")
        for each in plan.intents
    ]
    return "; ".join(calls) or "nothing"


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
