"""What went wrong between us and a host, as a value: whether to try again, and what to tell."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

import msgspec

from counterfoil.models.retry import is_retried
from counterfoil.types.error import ContextOverflow, ModelError
from counterfoil.types.json import is_array, is_object

MOST_SAID = 500
"""Characters of a host's words that are told."""

_OVERFLOW = re.compile(
    r"context[_ -]?(length|window|size)|maximum (context|prompt)|prompt is too long|input is too long"
    r"|too many (input )?tokens|too many total text|input token count|reduce the length"
    r"|exceeds? the (available )?context"
    r"|too large for model|longer than the model|exceeds the maximum number of tokens",
    re.IGNORECASE,
)
_GRAMMAR = re.compile(r"grammar|schemas? (is|are) too complex|too many (strict|optional)|compiled", re.IGNORECASE)
_FINAL = frozenset({"insufficient_quota", "billing_hard_limit_reached", "billing_not_active"})
"""Codes of a 429 that no waiting mends."""
_PASSING = re.compile(
    r"overloaded|rate_?limit|too_?many_?requests|throttling|unavailable|internal_?server|server_?error|api_error"
    r"|timeout|not_?ready|model_?stream_?error|resource_?exhausted",
    re.IGNORECASE,
)
"""Words for what passes, in an error that comes where a stream should begin."""


class Fault(msgspec.Struct, frozen=True, omit_defaults=True):
    """A failure of one attempt. `what` is hidden of keys and cut."""

    what: str
    status: int | None = None
    """Of the host's answer; `None` if there was none."""
    passing: bool = False
    """Whether another attempt may succeed."""
    after: float | None = None
    """Seconds that the host wants to be left alone."""
    overflow: bool = False
    grammar: bool = False
    """Whether the host could not take the strict tools."""
    advice: str = ""

    def error(self, name: str, told: str = "") -> ModelError:
        """The exception that ends the request. `told` is what was tried."""
        kind = ContextOverflow if self.overflow else ModelError
        advice = f". {self.advice}" if self.advice else ""
        return kind(f"{name}: {self.what}{told}{advice}")


def refused(status: int, headers: Mapping[str, str], said: str, code: str, after: float | None) -> Fault:
    """The fault of an answer that is an error: `said` and `code` are the host's own."""
    words = f" ({code})" if code else ""
    what = f"the host answered {status}{words}{': ' + said if said else ''}"
    overflow = status in (400, 413, 422) and is_overflow(f"{code} {said}")
    grammar = status in (400, 422) and not overflow and bool(_GRAMMAR.search(said))
    passing = is_retried(status, headers) and code not in _FINAL
    return Fault(what, status, passing, after, overflow, grammar)


def advice(fault: Fault, model: str, where: str, address: str) -> str:
    """What to do about an answer that is an error."""
    if fault.overflow:
        return (
            "The conversation and the tools are longer than the model's context: shorten them, or take a larger model"
        )
    match fault.status:
        case 401:
            return f"Check {where}"
        case 402:
            return "The account has no credit left"
        case 403:
            return f"Check that {where} may use the model {model!r}"
        case 404:
            return f"Check the model's name, {model!r}, and the address, {address}"
        case 413:
            return "The request is too large for the host: shorten the conversation"
        case 429:
            return "Send less at once, or ask the host for a higher limit; resume the run to ask again"
        case 408 | 409:
            return "Resume the run to ask again"
        case int() as status if status >= 500:
            return "The host has trouble of its own: resume the run to ask again"
        case int() as status if 300 <= status < 400:
            return "The host is at another address: give that one"
        case _:
            return ""


def is_overflow(said: str) -> bool:
    """Whether words say that the request is longer than the model's context."""
    return bool(_OVERFLOW.search(said))


def is_passing(event: Mapping[str, Any]) -> bool:
    """Whether an error in place of a stream's first event is one that passes."""
    error = event.get("error")
    found: list[Any] = [event.get("type"), event.get("code"), *event]
    if is_object(error):
        found += [error.get("type"), error.get("code"), error.get("status")]
        if error.get("code") in (429, 500, 502, 503, 504, 529):
            return True
    return any(isinstance(word, str) and word != "error" and _PASSING.search(word) for word in found)


def words_of(body: bytes) -> tuple[str, str]:
    """What an error body says, and its code, in any of the shapes that hosts use; a page of HTML says its text."""
    try:
        value: Any = msgspec.json.decode(body)
    except (msgspec.DecodeError, RecursionError):
        text = re.sub(r"<(script|style).*?</\1>|<[^>]*>", " ", body.decode("utf-8", "replace"), flags=re.S | re.I)
        return shorten(text), ""
    if is_array(value) and value:
        value = value[0]
    if not is_object(value):
        return shorten(value if isinstance(value, str) else ""), ""
    error = value.get("error")
    inner = error if is_object(error) else value
    said = next((text for key in ("message", "detail", "msg") if (text := _text(inner.get(key)))), "")
    if not said:
        said = _text(error) or shorten(msgspec.json.encode(inner).decode())
    code = next((str(inner[key]) for key in ("code", "status", "type") if _is_code(inner.get(key))), "")
    return shorten(said), shorten(code, 60)


def _is_code(value: Any) -> bool:
    return isinstance(value, str) and value not in ("", "error", "object") and not value.isdigit()


def _text(value: Any) -> str:
    """A message; FastAPI's hosts send a list of them with their places."""
    if isinstance(value, str):
        return value
    if is_array(value):
        lines = [
            f"{'.'.join([str(step) for step in each.get('loc') or ()])}: {each.get('msg')}"
            for each in value
            if is_object(each)
        ]
        return "; ".join(lines)
    return ""


def shorten(text: str, most: int = MOST_SAID) -> str:
    """One line of at most so many characters, with nothing in it that a terminal would obey."""
    text = " ".join("".join([letter if letter.isprintable() else " " for letter in text]).split())
    return text if len(text) <= most else text[: most - 3] + "..."
