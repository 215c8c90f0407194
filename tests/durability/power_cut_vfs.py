"""A disk for SQLite that keeps a record of all it is told, and what a power cut would have left of it.

What was synced is there. Of what was not, each write is kept, lost, or torn: some of its 512-byte sectors are there, in
whatever order they were written. A truncation is kept or lost; a file that was created or removed since its folder was
last synced may be there or not. (The order in which unsynced writes reach a disk is covered: any of them may be lost.)
"""

from __future__ import annotations

import sqlite3
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import suppress
from itertools import count
from pathlib import Path
from random import Random
from typing import Any, NamedTuple, cast

import apsw

from counterfoil import SqliteJournal

SECTOR = 512
_KEEPS_ITS_FOLDER = apsw.SQLITE_OPEN_WAL | apsw.SQLITE_OPEN_MAIN_JOURNAL
"""SQLite syncs the folder too when it first syncs one of these."""
_number = count()


# -- the record


class Wrote(NamedTuple):
    """Bytes were written to an inode."""

    inode: int
    offset: int
    data: bytes


class Truncated(NamedTuple):
    """An inode was cut, or made longer."""

    inode: int
    size: int


class Synced(NamedTuple):
    """All of an inode is on the disk, and its folder, if that was asked for."""

    inode: int
    folder: bool


class Named(NamedTuple):
    """A name stands for another inode from now on, or for none; `synced`: and that is on the disk."""

    name: str
    inode: int | None
    synced: bool = False


class Acknowledged(NamedTuple):
    """Somebody was told that this is durable."""

    what: Any


Change = Wrote | Truncated | Synced | Named | Acknowledged


class _File(apsw.VFSFile):
    def __init__(self, disk: Disk, name: str | apsw.URIFilename, flags: list[int]) -> None:
        path = name.filename() if isinstance(name, apsw.URIFilename) else name
        super().__init__(disk.base, name, flags)
        self._disk = disk
        self._path = path
        self._inode = disk.inode(path)
        self._folder_too = bool(flags[0] & _KEEPS_ITS_FOLDER)

    def xWrite(self, data: Any, offset: int) -> None:
        content = bytes(data)
        fits = self._disk.room_for(self._path, offset, len(content))
        if fits:
            super().xWrite(content[:fits], offset)
            self._disk.record.append(Wrote(self._inode, offset, content[:fits]))
        if fits < len(content):
            raise apsw.FullError("database or disk is full")

    def xTruncate(self, newsize: int) -> None:
        super().xTruncate(newsize)
        self._disk.sizes[self._path] = newsize
        self._disk.record.append(Truncated(self._inode, newsize))

    def xSync(self, flags: int) -> None:
        self._disk.sync(self._inode, self._folder_too)
        self._folder_too = False


class Disk(apsw.VFS):
    """Files in a folder, a record of every change to them, and room for so many bytes in all."""

    base = "unix"

    def __init__(self, folder: Path, room: int | None = None) -> None:
        self.name = f"disk-{next(_number)}"
        self.folder = folder
        self.room = room
        self.sizes: dict[str, int] = {}
        self.record: list[Change] = []
        self._inodes: dict[str, int] = {}
        self._inode = count()
        super().__init__(self.name, self.base)

    def xOpen(self, name: str | apsw.URIFilename | None, flags: list[int]) -> apsw.VFSFile:
        if name is None:  # a file for SQLite's own use, gone when it is closed
            return apsw.VFSFile(self.base, name, flags)
        return _File(self, name, flags)

    def xDelete(self, filename: str, syncdir: bool) -> None:
        super().xDelete(filename, syncdir)
        self.sizes.pop(filename, None)
        if self._inodes.pop(filename, None) is not None:
            self.record.append(Named(Path(filename).name, None, syncdir))

    def inode(self, path: str) -> int:
        """The number of a file that was opened, perhaps made by that."""
        if path not in self._inodes:
            self._inodes[path] = next(self._inode)
            self.record.append(Named(Path(path).name, self._inodes[path]))
        return self._inodes[path]

    def sync(self, inode: int, folder: bool) -> None:
        """Note that all of a file is durable. Nothing is really waited for: the record is what counts."""
        self.record.append(Synced(inode, folder))

    def room_for(self, path: str, offset: int, length: int) -> int:
        """How many of these bytes can be written; they count as written."""
        size = self.sizes.get(path, 0)
        end = offset + length
        if self.room is not None:
            end = min(end, max(size, self.room - self.used + size))
        self.sizes[path] = max(size, end)
        return max(0, end - offset)

    @property
    def used(self) -> int:
        """Bytes that the files take."""
        return sum(self.sizes.values())

    def acknowledge(self, what: Any) -> None:
        """Note that somebody was just told that this is durable."""
        self.record.append(Acknowledged(what))


# -- what a power cut leaves


class Image(NamedTuple):
    """The files that are found after a power cut, and what had been acknowledged before it."""

    files: dict[str, bytes]
    acknowledged: list[Any]
    torn: bool
    """Whether a write is there in part."""

    def restore(self, folder: Path, chance: Random) -> None:
        """Put the files into a folder. The shared-memory index beside a WAL is never synced: it may be anything."""
        for name, content in self.files.items():
            (folder / name).write_bytes(content)
            if name.endswith("-wal") and chance.random() < 0.5:
                (folder / name.replace("-wal", "-shm")).write_bytes(chance.randbytes(32_768))


class _Inode:
    def __init__(self) -> None:
        self.synced = bytearray()
        self.unsynced: list[Wrote | Truncated] = []

    def sync(self) -> None:
        for change in self.unsynced:
            _apply(self.synced, change)
        self.unsynced.clear()

    def left(self, chance: Random, kept: float) -> tuple[bytes, bool]:
        content, torn = bytearray(self.synced), False
        for change in self.unsynced:
            drawn = chance.random()
            if drawn < kept:
                _apply(content, change)
            elif isinstance(change, Wrote) and drawn < kept + (1 - kept) / 2:
                parts = list(_sectors(change))
                some = _some(parts, chance)
                torn |= 0 < len(some) < len(parts)
                for part in some:
                    _apply(content, part)
        return bytes(content), torn


def _apply(content: bytearray, change: Wrote | Truncated) -> None:
    end = change.size if isinstance(change, Truncated) else change.offset + len(change.data)
    if len(content) < end:
        content.extend(bytes(end - len(content)))
    if isinstance(change, Truncated):
        del content[end:]
    else:
        content[change.offset : end] = change.data


def _sectors(write: Wrote) -> Iterator[Wrote]:
    at = 0
    while at < len(write.data):
        length = SECTOR - (write.offset + at) % SECTOR
        yield Wrote(write.inode, write.offset + at, write.data[at : at + length])
        at += length


def _some(parts: list[Wrote], chance: Random) -> list[Wrote]:
    """The first few, as a head writes them; or any, as a controller does that has an order of its own."""
    if chance.random() < 0.5:
        return parts[: chance.randrange(len(parts) + 1)]
    return [part for part in parts if chance.random() < 0.5]


def images(record: Sequence[Change], moments: Iterable[int], chance: Random) -> Iterator[Image]:
    """What a power cut leaves before the change of each of these numbers (in rising order)."""
    inodes: dict[int, _Inode] = {}
    names: dict[str, list[int | None]] = {}
    acknowledged: list[Any] = []
    done = 0
    for moment in moments:
        for change in record[done:moment]:
            match change:
                case Named(name, inode, synced):
                    names.setdefault(name, [None]).append(inode)
                    if inode is not None:
                        inodes[inode] = _Inode()
                    if synced:
                        _sync_folder(names)
                case Synced(inode, folder):
                    inodes[inode].sync()
                    if folder:
                        _sync_folder(names)
                case Acknowledged(what):
                    acknowledged.append(what)
                case _:
                    inodes[change.inode].unsynced.append(change)
        done = moment
        yield _image(inodes, names, list(acknowledged), chance)


def _sync_folder(names: dict[str, list[int | None]]) -> None:
    for history in names.values():
        del history[:-1]


def _image(
    inodes: dict[int, _Inode], names: dict[str, list[int | None]], acknowledged: list[Any], chance: Random
) -> Image:
    kept = chance.choice((0.0, 0.2, 0.5, 0.8))
    files: dict[str, bytes] = {}
    torn = False
    for name, history in names.items():
        inode = chance.choice(history)
        if inode is not None:
            files[name], parts = inodes[inode].left(chance, kept)
            torn |= parts
    return Image(files, acknowledged, torn)


# -- a journal on such a disk


class _Rows:
    def __init__(self, rows: list[Any], rowcount: int) -> None:
        self._rows = iter(rows)
        self.rowcount = rowcount

    def fetchone(self) -> Any:
        return next(self._rows, None)

    def fetchall(self) -> list[Any]:
        return list(self._rows)

    def __iter__(self) -> Iterator[Any]:
        return self._rows


class _Connection:
    """What the journal uses of `sqlite3.Connection`, by APSW."""

    def __init__(self, path: Path, disk: Disk, busy_seconds: float) -> None:
        self._db: apsw.Connection = _translated(apsw.Connection, str(path), vfs=disk.name)
        self._db.set_busy_timeout(int(busy_seconds * 1000))

    def execute(self, sql: str, parameters: Sequence[Any] = ()) -> _Rows:
        before = self._db.total_changes()
        rows = _translated(lambda: self._db.execute(sql, tuple(parameters)).fetchall())
        return _Rows(rows, self._db.total_changes() - before)

    def executemany(self, sql: str, parameters: Iterable[Sequence[Any]]) -> _Rows:
        before = self._db.total_changes()
        _translated(lambda: self._db.executemany(sql, [tuple(each) for each in parameters]).fetchall())
        return _Rows([], self._db.total_changes() - before)

    @property
    def in_transaction(self) -> bool:
        return bool(self._db.in_transaction)

    @property
    def total_changes(self) -> int:
        return int(self._db.total_changes())

    def close(self) -> None:
        with suppress(apsw.FullError):  # SQLite forgives that the WAL did not fit into the database; APSW tells it
            self._db.close()


def _translated(do: Callable[..., Any], *arguments: Any, **options: Any) -> Any:
    try:
        return do(*arguments, **options)
    except apsw.ConstraintError as error:
        raise sqlite3.IntegrityError(str(error)) from error
    except (apsw.NotADBError, apsw.CorruptError) as error:
        raise sqlite3.DatabaseError(str(error)) from error
    except apsw.Error as error:
        raise sqlite3.OperationalError(str(error)) from error


class JournalOnDisk(SqliteJournal):
    """The SQLite journal, its file on a recorded disk. `pages`: after how many the WAL goes into the database."""

    def __init__(self, disk: Disk, *, pages: int = 1_000) -> None:
        self._disk = disk
        self._pages = pages
        super().__init__(disk.folder / "runs.db")

    def _connect(self) -> sqlite3.Connection:
        db = _Connection(self.path, self._disk, self._busy)
        db.execute("PRAGMA secure_delete=ON")  # as the journal itself does: it changes what is written
        db.execute(f"PRAGMA wal_autocheckpoint={self._pages}")
        return cast("sqlite3.Connection", db)
