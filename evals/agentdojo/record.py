"""What was played, asked and found, a JSON line each, so that a run which was stopped goes on where it was."""

from __future__ import annotations

import hashlib
from collections.abc import Hashable
from pathlib import Path
from types import TracebackType
from typing import Generic, Protocol, TypeVar

import msgspec

import counterfoil
from counterfoil.cli.problem import Problem

_JUDGES = ("gate", "run", "tools", "types")
_PLAYERS = ("adaptive", "attacks", "declared", "planner", "plans", "play", "policies", "world")


class Line(Protocol):
    """Something that is kept, and what it is known by."""

    @property
    def key(self) -> Hashable:
        """Two lines with the same key are of the same thing."""
        ...


T = TypeVar("T", bound=Line)


class Lines(Generic[T]):
    """The lines of one kind in a folder. Raises `Problem` for a line that is none of them."""

    def __init__(self, path: Path, kind: type[T]) -> None:
        self.known: dict[Hashable, T] = {}
        whole = 0
        for number, line in enumerate((path.read_bytes() if path.exists() else b"").splitlines(keepends=True), 1):
            if not line.endswith(b"\n"):
                break
            try:
                read = msgspec.json.decode(line, type=kind)
            except msgspec.MsgspecError as error:
                raise Problem(f"line {number} of {path} is none ({error}): delete the line, or the folder") from None
            self.known[read.key] = read
            whole += len(line)
        self._file = path.open("ab", buffering=0)
        # A line that was being written when the run was stopped.
        self._file.truncate(whole)

    def __enter__(self) -> Lines[T]:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        self._file.close()

    def add(self, line: T) -> None:
        """Keep one."""
        self.known[line.key] = line
        self._file.write(msgspec.json.encode(line) + b"\n")


def settings(versions: dict[str, str]) -> dict[str, str]:
    """What lines must agree in to stand in one table: the versions, and the code that judged and played."""
    source = hashlib.sha256()
    product, here = Path(counterfoil.__file__).parent, Path(__file__).parent
    files = [each for name in _JUDGES for each in sorted((product / name).rglob("*.py"))]
    for each in [*files, *[here / f"{name}.py" for name in _PLAYERS]]:
        source.update(each.read_bytes())
    return {**versions, "code": source.hexdigest()[:16]}
