"""Why a reply ended: our word and the provider's."""

from __future__ import annotations

from collections.abc import Mapping

from counterfoil.types.request import Stop


def derive(words: Mapping[str, Stop], raw: str | None, calls: bool) -> Stop:
    """Our word. What is in the reply counts for more than what is said of it."""
    stop = words.get(raw or "", "other")
    if calls:
        return "tool_calls" if stop in ("end", "other") else stop
    return "other" if stop == "tool_calls" else stop


def word(words: Mapping[str, Stop], stop: Stop, raw: str | None) -> str:
    """The provider's word: the one that was read, if it is of this wire and still true; else the first that fits."""
    if raw is not None and raw in words and (words[raw] == stop or stop in ("tool_calls", "other")):
        return raw
    return next((word for word, ours in words.items() if ours == stop), next(iter(words)))
