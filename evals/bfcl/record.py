"""What became of every case, a JSON line each, so that a run which was stopped goes on where it was."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable
from pathlib import Path
from types import TracebackType
from typing import Any

import msgspec

from counterfoil.cli.problem import Problem
from counterfoil.types.json import canonical
from counterfoil.types.message import Message
from counterfoil.types.request import ToolSpec
from evals.settings import agree

CASES = "cases.jsonl"


class Row(msgspec.Struct, frozen=True, omit_defaults=True):
    """One case, asked in one way."""

    id: str
    category: str
    way: str
    """`constrained`, `unconstrained`, `model`; of the oracle: the format that its calls went through."""
    prompt: str
    """SHA-256 of the messages and the tools, the first 16 digits."""
    calls: list[tuple[str, Any]]
    valid: bool
    error: str = ""
    kind: str = ""
    """What kind of error: BFCL's word, or `unsayable`, `changed`, `truth` (see `run.take`), `broken`, `overflow`."""
    conforms: bool | None = None
    """Whether every call fits its tool's own schema; `None` without calls."""
    broken: str = ""
    """What set out to be a call and did not parse: mostly one that the limit of tokens cut off."""
    seconds: float = 0.0
    text: str = ""
    """What was said instead of calls, its beginning."""


Key = tuple[str, str]


def digest(messages: Iterable[Message], tools: Iterable[ToolSpec]) -> str:
    """What a prompt is known by."""
    parts = [[msgspec.to_builtins(each) for each in messages], [msgspec.to_builtins(each) for each in tools]]
    return hashlib.sha256(canonical(parts)).hexdigest()[:16]


class Record:
    """The rows of a run: kept in a folder, or in memory only where none is given.

    Raises `Problem` when the folder holds a run with other settings: its rows could not be compared with new ones.
    """

    def __init__(self, folder: Path | None, settings: dict[str, Any]) -> None:
        self.rows: dict[Key, Row] = {}
        self._file: Any = None
        if folder is None:
            return
        folder.mkdir(parents=True, exist_ok=True)
        agree(folder, settings, "Run with the same settings, or choose another folder with --out")
        path = folder / CASES
        whole = _read(path, self.rows)
        self._file = path.open("ab")
        # A line that was being written when the run was stopped.
        self._file.truncate(whole)

    def __enter__(self) -> Record:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        if self._file is not None:
            self._file.close()

    def has(self, way: str, case: str, prompt: str) -> bool:
        """Whether a case is there already. Raises `Problem` when it was asked in other words."""
        row = self.rows.get((way, case))
        if row is not None and row.prompt != prompt:
            raise Problem(
                f"{case} was asked in other words in the run that is kept there: the data or how they are declared has "
                "changed since. Choose another folder with --out, or delete that one"
            )
        return row is not None

    def add(self, row: Row) -> None:
        """Keep a row."""
        self.rows[row.way, row.id] = row
        if self._file is not None:
            self._file.write(msgspec.json.encode(row) + b"\n")
            self._file.flush()


def _read(path: Path, rows: dict[Key, Row]) -> int:
    """Read the rows that are whole; returns how many bytes they are."""
    whole = 0
    data = path.read_bytes() if path.exists() else b""
    for number, line in enumerate(data.splitlines(keepends=True), 1):
        if not line.endswith(b"\n"):
            break
        try:
            row = msgspec.json.decode(line, type=Row)
        except msgspec.MsgspecError as error:
            raise Problem(f"line {number} of {path} is no case ({error}): delete the line, or the folder") from None
        rows[row.way, row.id] = row
        whole += len(line)
    return whole
