"""The annotated corpus, a passage a line, so that a run which was stopped goes on where it was."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import msgspec

from counterfoil.cli.problem import Problem
from evals.settings import agree
from evals.toolformer.place import Passage

CORPUS = "corpus.jsonl"


def passages(path: Path | None) -> list[str]:
    """The passages of a file: its lines, without those that begin with #. Raises `Problem`, `OSError`."""
    path = path or Path(__file__).with_name("corpus.txt")
    try:
        lines = path.read_text(encoding="utf-8").splitlines()
    except UnicodeDecodeError:
        raise Problem(f"{path} is no text in UTF-8: write one passage a line") from None
    found = [line.strip() for line in lines if line.strip() and not line.startswith("#")]
    if not found:
        raise Problem(f"{path} has no passages: write one a line")
    return found


class Record:
    """What is annotated already: in a folder, or in memory where none is given.

    Raises `Problem` when the folder holds a run with other settings.
    """

    def __init__(self, folder: Path | None, settings: dict[str, Any]) -> None:
        self.done: dict[int, Passage] = {}
        self._path = folder / CORPUS if folder is not None else None
        if folder is None or self._path is None:
            return
        folder.mkdir(parents=True, exist_ok=True)
        agree(folder, settings)
        data = self._path.read_bytes() if self._path.exists() else b""
        # A line that was being written when the run was stopped is written again.
        whole = data[: data.rfind(b"\n") + 1]
        for number, line in enumerate(whole.splitlines(), 1):
            try:
                held = msgspec.json.decode(line, type=Passage)
            except msgspec.MsgspecError as error:
                raise Problem(f"line {number} of {self._path} is no passage ({error}): delete the folder") from None
            self.done[held.number] = held
        if whole != data:
            self._path.write_bytes(whole)

    def add(self, passage: Passage) -> None:
        """Keep a passage."""
        self.done[passage.number] = passage
        if self._path is not None:
            with self._path.open("ab") as file:
                file.write(msgspec.json.encode(passage) + b"\n")
