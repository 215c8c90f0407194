"""Runs in a compressed file, for good: written whole, on the disk and read back before anybody relies on it."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import suppress
from importlib import import_module
from pathlib import Path
from types import TracebackType
from typing import Any, BinaryIO, Self

from counterfoil.journal.portable import Transcript, from_lines, to_lines
from counterfoil.types.error import JournalCorrupt, JournalError, MissingExtra

_MAGIC = b"\x28\xb5\x2f\xfd"
"""How every Zstandard frame begins (RFC 8878, section 3.1.1)."""


def _zstd() -> Any:
    for name in ("compression.zstd", "backports.zstd"):  # the first is Python's own, from 3.14 on
        with suppress(ImportError):
            return import_module(name)
    raise MissingExtra("An archive in .zst", "archive")


class Archive:
    """Writes runs to FILE.jsonl.zst: as FILE.part first, under its name only when `finish` has read it back.

    Raises `JournalError` where there is such a file already, `MissingExtra`.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        self.ends: dict[str, str] = {}
        """The hash in which each run ends that was written."""
        zstd = _zstd()
        if path.exists():
            raise JournalError(f"{path} is there already: name another file")
        self._part = path.with_name(path.name + ".part")
        self._raw = self._part.open("wb")
        self._file: BinaryIO = zstd.ZstdFile(self._raw, "wb", options={zstd.CompressionParameter.checksum_flag: 1})

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """Leave no half of a file."""
        self._raw.close()
        self._part.unlink(missing_ok=True)

    def add(self, run: Transcript) -> None:
        """Write a run, checked against its chain. Raises `JournalCorrupt`."""
        for line in to_lines(run):
            self._file.write(line + b"\n")
        self.ends[run.id] = run.hash

    def finish(self) -> None:
        """Put the file on the disk, read it back and give it its name. Raises `JournalCorrupt` if it differs."""
        self._file.close()
        self._raw.flush()
        os.fsync(self._raw.fileno())
        with self._part.open("rb") as file:
            found = {run.id: run.hash for run in from_lines(lines_of(file))}
        if found != self.ends:
            raise JournalCorrupt(f"{self.path} does not read back as it was written: the disk may be failing")
        self._part.rename(self.path)
        _sync_folder(self.path.parent)


def _sync_folder(folder: Path) -> None:
    """Have the disk keep a new name; where folders cannot be opened (Windows) the system does so by itself."""
    if os.name == "posix":
        descriptor = os.open(folder, os.O_RDONLY)
        try:
            os.fsync(descriptor)
        finally:
            os.close(descriptor)


def lines_of(file: BinaryIO) -> Iterator[bytes]:
    """The lines of an exported file or of an archive, whichever it is. Raises `JournalCorrupt`, `MissingExtra`."""
    packed = file.read(len(_MAGIC)) == _MAGIC
    file.seek(0)
    if not packed:
        yield from file
        return
    zstd = _zstd()
    try:
        yield from zstd.ZstdFile(file, "rb")
    except (zstd.ZstdError, EOFError) as error:
        raise JournalCorrupt(f"the archive is damaged or cut off: {error}") from error
