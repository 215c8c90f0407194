"""What went wrong, in a sentence that says what to do."""

from __future__ import annotations

import errno
import os
import sqlite3

import anyio

from counterfoil.types.error import CounterfoilError, RunBusy


class Problem(Exception):
    """The command cannot do what it was told: bad usage or bad input. The message says what to do."""


def explain(error: BaseException) -> str | None:
    """The sentence for an error that a user can do something about; `None` for one that is a fault of ours."""
    if isinstance(error, BaseExceptionGroup):
        within: list[BaseException] = list(error.exceptions)  # pyright: ignore[reportUnknownMemberType, reportUnknownArgumentType]
        return explain(within[0]) if len(within) == 1 else None
    match error:
        case RunBusy():
            return f"{error}. Wait until that process is done with it, or stop it, and try again."
        case Problem() | CounterfoilError():
            return str(error)
        case sqlite3.Error():
            return f"the journal could not be used: {error}. Check the file, or choose another with --journal."
        case OSError() if error.errno in (errno.ENOSPC, errno.EDQUOT):
            return "the disk is full: free some space and try again. Nothing that was kept is lost."
        case OSError(filename=str() | bytes() as name):
            return _path_words(error, os.fsdecode(name))
        case OSError():
            return f"{error}. Check the path and its permissions."
        case anyio.BrokenResourceError():
            return "a process that was needed went away: try again."
        case _:
            return None


def _path_words(error: OSError, path: str) -> str:
    match error:
        case FileNotFoundError():
            return f"there is no {path}: check the path"
        case FileExistsError() | NotADirectoryError():
            return f"{path} must be a folder, and there is a file in its place: choose another path"
        case IsADirectoryError():
            return f"{path} must be a file, and is a folder: choose another path"
        case PermissionError():
            return f"{path} may not be read or written by you: check its permissions, or choose another path"
        case _:
            return f"{path}: {error.strerror}. Check the path and its permissions."


def sentence(error: BaseException, debug: bool = False) -> str:
    """What to say of any error."""
    said = explain(error)
    if said is None:
        again = "" if debug else " Run it again with --debug to see where it comes from."
        said = f"an unforeseen {type(error).__name__}: {error}.{again}"
    return said
