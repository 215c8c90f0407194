"""What a person reviewed of each tool, kept in a file, so that a declaration cannot change behind their back.

A description and a schema are text that the model obeys. Where they come from elsewhere, they can change after they
were read. Pins hold what was read; `Catalogue.pinned` withholds every tool that is not, to the letter, among them.
"""

from __future__ import annotations

import difflib
import hashlib
import hmac
import json
import os
import re
from pathlib import Path
from typing import Any, Literal

import msgspec

from counterfoil.tools.catalogue import Catalogue
from counterfoil.tools.tool import Tool
from counterfoil.types.error import CatalogueError
from counterfoil.types.json import is_array, is_object, read_object
from counterfoil.types.unseen import UNSEEN

VERSION = 1
_PIECES = re.compile(r"(?<=[.!?] )|(?<=\n)")
"""Where a description is cut: a sentence or a line that changed is then a line of a diff."""
_DIFFED = 2000
"""Lines up to which a diff is looked for: a hostile declaration could make the search take hours."""


class Pin(msgspec.Struct, frozen=True):
    """What was reviewed of one tool, by part: what the model is told (`description`, `parameters`, `output_schema`,
    `ext`, ...), and what the gate goes by (`effect`, `permission`, `trust` with the roles that are marked on
    parameters). The order of an object's keys is no part.
    """

    parts: dict[str, Any]

    @classmethod
    def of(cls, tool: Tool) -> Pin:
        """Read a tool's declaration."""
        parts: dict[str, Any] = msgspec.to_builtins(tool.spec, str_keys=True)
        del parts["name"]
        parts |= {"effect": tool.effect, "permission": tool.permission}
        if tool.trust is not None:
            parts["trust"] = msgspec.to_builtins(tool.trust, str_keys=True)
        return cls(json.loads(_exact(parts)))  # as it will be read back: no tuples

    @property
    def digest(self) -> str:
        """SHA-256 over every part: ASCII JSON with sorted keys, the same in every version of Python and Unicode."""
        return hashlib.sha256(_exact(self.parts).encode()).hexdigest()

    @property
    def text(self) -> str:
        """The parts as JSON for people: a line per sentence of the description, nothing hidden."""
        return visible(json.dumps(self.shown(), ensure_ascii=False, sort_keys=True, indent=2))

    def shown(self) -> dict[str, Any]:
        """The parts as they stand in a file, with the description in pieces."""
        said = self.parts.get("description")
        return self.parts | {"description": _PIECES.split(said)} if isinstance(said, str) else self.parts


class Difference(msgspec.Struct, frozen=True):
    """How a tool differs from what was reviewed. `was` is `None` for a new one, `now` for one that is gone."""

    name: str
    was: Pin | None
    now: Pin | None

    @property
    def kind(self) -> Literal["new", "changed", "gone"]:
        """What happened to the tool."""
        return "new" if self.was is None else "gone" if self.now is None else "changed"

    @property
    def parts(self) -> tuple[str, ...]:
        """Which parts of it changed; none of a tool that is new or gone."""
        if self.was is None or self.now is None:
            return ()
        was, now = self.was.parts, self.now.parts
        return tuple(name for name in sorted(was.keys() | now.keys()) if _part(was, name) != _part(now, name))

    @property
    def diff(self) -> str:
        """The difference as a unified diff of JSON, in which hidden characters are visible as escapes."""
        was, now = (pin.text.split("\n") if pin is not None else [] for pin in (self.was, self.now))
        if max(len(was), len(now)) > _DIFFED:
            return "\n".join([f"-{line}" for line in was] + [f"+{line}" for line in now])
        return "\n".join(difflib.unified_diff(was, now, f"{self.name} (reviewed)", f"{self.name} (now)", lineterm=""))

    def __str__(self) -> str:
        return f"{self.name} has changed: {', '.join(self.parts)}" if self.parts else f"{self.name} is {self.kind}"


class Pins(msgspec.Struct, frozen=True):
    """What was reviewed, by the name under which the model is shown the tool (with its prefix).

    As a file: JSON with sorted keys, to be kept with the code and reviewed as its changes are.
    """

    tools: dict[str, Pin] = {}

    @classmethod
    def of(cls, catalogue: Catalogue) -> Pins:
        """Take a catalogue as it is declared now for reviewed, what it has in quarantine included."""
        held = {each.name: each.now for each in catalogue.quarantined if each.now is not None}
        return cls(held | {tool.name: Pin.of(tool) for tool in catalogue})

    def check(self, catalogue: Catalogue) -> list[Difference]:
        """Every tool that is not what was reviewed, by name: new, changed, or gone."""
        now = Pins.of(catalogue).tools
        return [
            Difference(name, self.tools.get(name), now.get(name))
            for name in sorted(self.tools.keys() | now.keys())
            if not _same(self.tools.get(name), now.get(name))
        ]

    def to_json(self) -> str:
        """The text of a pin file. Raises `CatalogueError` for a declaration that no strict reader would read back."""
        tools = {name: pin.shown() | {"digest": pin.digest} for name, pin in self.tools.items()}
        for name, each in tools.items():
            if (error := read_object(json.dumps({"tools": {name: each}}))[1]) is not None:
                raise CatalogueError(f"{name} cannot be pinned, because no reader would take its declaration: {error}")
        whole = {"version": VERSION, "tools": tools}
        return visible(json.dumps(whole, ensure_ascii=False, sort_keys=True, indent=2)) + "\n"

    @classmethod
    def from_json(cls, text: str) -> Pins:
        """Read the text of a pin file. Raises `CatalogueError` if anything in it is not as it was written."""
        found, error = read_object(text)
        if found is None:
            raise CatalogueError(f"the pins cannot be read: {error}")
        tools = found.get("tools")
        if found.get("version") != VERSION or found.keys() != {"version", "tools"} or not is_object(tools):
            raise CatalogueError(
                f'these are no pins, or those of another version: expected {{"version": {VERSION}, "tools": {{...}}}}'
            )
        return cls({name: _pin(name, each) for name, each in tools.items()})

    @classmethod
    def load(cls, path: str | os.PathLike[str]) -> Pins:
        """Read a pin file. Raises `CatalogueError` when it is missing or broken: then nothing was reviewed."""
        write = "counterfoil tools module:attribute --pin"
        try:
            return cls.from_json(Path(path).read_text("utf-8"))
        except FileNotFoundError as error:
            raise CatalogueError(
                f"there is no pin file {path}: read the tools' declarations, then {write} {path}"
            ) from error
        except (CatalogueError, UnicodeDecodeError) as error:
            raise CatalogueError(f"{path}: {error}. Restore it, or write another: {write} FILE") from error

    def dump(self, path: str | os.PathLike[str]) -> None:
        """Write a pin file."""
        Path(path).write_text(self.to_json(), "utf-8", newline="\n")


def visible(text: str) -> str:
    """JSON text with every character that a terminal or an editor would obey, reorder or hide as its JSON escape."""
    if text.isascii() and text.replace("\n", "").isprintable():
        return text
    return "".join([c if c == "\n" or (c.isprintable() and c not in UNSEEN) else json.dumps(c)[1:-1] for c in text])


def _exact(value: Any) -> str:
    return json.dumps(value, sort_keys=True, separators=(",", ":"))


def _part(parts: dict[str, Any], name: str) -> str | None:
    return _exact(parts[name]) if name in parts else None  # as text: to Python, True is 1


def _same(was: Pin | None, now: Pin | None) -> bool:
    return was is not None and now is not None and hmac.compare_digest(was.digest, now.digest)


def _pin(name: str, written: Any) -> Pin:
    if not is_object(written) or not isinstance(written.get("digest"), str):
        raise CatalogueError(f"the pin of {name!r} is not what was written: it has no digest")
    parts = dict(written)
    digest = parts.pop("digest")
    said = parts.get("description")
    if is_array(said) and all(isinstance(each, str) for each in said):
        parts["description"] = "".join(said)
    pin = Pin(parts)
    if not hmac.compare_digest(pin.digest.encode(), digest.encode()):
        raise CatalogueError(f"the pin of {name!r} is not what was written: its digest differs")
    return pin
