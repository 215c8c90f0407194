"""Keys: found when they are used, shown to nobody."""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Iterable

from counterfoil.types.error import ModelError

HIDDEN = "(hidden)"

_KEYLIKE = re.compile(
    r"(?i)\bbearer\s+[^\s\"',;]+"
    r"|\b(?:sk|rk|pk|gsk|xai|hf|csk|tgp|fw|key|ak)[-_][A-Za-z0-9_*.\-]{8,}"
    r"|\b(?:AIza|AKIA|ASIA|ABSK)[A-Za-z0-9_\-+/=]{12,}"
    r"|\b[A-Za-z0-9]{2,}\*{3,}[A-Za-z0-9*]*"
)
"""What looks like a key, whole or half hidden: hosts quote the one they were sent when they refuse it."""

Key = str | Callable[[], str]


class Keys:
    """The key of one host: given, or in one of its environment variables, looked up at every use.

    Knows every key that it has handed out, to hide it wherever it might turn up.
    """

    def __init__(self, given: Key | None, variables: tuple[str, ...], *, needed: bool) -> None:
        self._given = given
        self._variables = variables
        self._needed = needed
        self._seen: set[str] = set()

    @property
    def where(self) -> str:
        """Where a key is looked for, for people."""
        return "the key that was given" if self._given is not None else " or ".join(self._variables) or "its key"

    def get(self, name: str, *, secure: bool) -> str | None:
        """The key. `None` if there is none and none is needed; `name` is the model's, for the error.

        Raises `ModelError`: which variable to set; that the key cannot stand in a header; or that it is one of the
        environment's for a provider, and the line is not `secure`.
        """
        key = self._find()
        if key is None:
            if self._needed:
                raise ModelError(f"{name} needs a key: set {self.where}")
            return None
        problem = ""
        if not key.isascii() or not key.isprintable() or " " in key:
            problem = f"{self.where} holds characters that no key has: copy it again"
        elif self._needed and self._given is None and not secure:
            problem = (
                f"{self.where} is not sent to another machine without encryption: use https://, or give the key "
                "yourself (key=...)"
            )
        self._seen.add(key)
        if problem:
            # Whoever prints a traceback with its variables shall not find it here.
            key = None
            raise ModelError(f"{name}: {problem}")
        return key

    def learn(self, secrets: Iterable[str]) -> None:
        """Take more secrets to hide."""
        self._seen.update([secret for secret in secrets if secret])

    def hide(self, text: str) -> str:
        """The text without any key that was used, and without what looks like one."""
        for key in sorted(self._seen, key=len, reverse=True):
            text = text.replace(key, HIDDEN)
        return _KEYLIKE.sub(HIDDEN, text)

    def _find(self) -> str | None:
        if self._given is not None:
            key = self._given() if callable(self._given) else self._given
            return key.strip() or None
        for variable in self._variables:
            if key := os.environ.get(variable, "").strip():
                return key
        return None

    def __repr__(self) -> str:
        return f"Keys({self.where})"
