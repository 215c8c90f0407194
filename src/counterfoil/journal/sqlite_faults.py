"""What a failure of a SQLite file means, in words."""

from __future__ import annotations

from pathlib import Path

from counterfoil.types.error import JournalCorrupt, JournalError


def explained(error: BaseException, path: Path) -> JournalError:
    """Say what a failure of the storage means, and what to do."""
    text = str(error)
    if isinstance(error, JournalError):
        return error
    if "locked" in text or "busy" in text:
        return JournalError(f"{path} is locked by another process: wait for it, or end it, and try again")
    if "full" in text:
        return JournalError(
            f"the disk is full: {path} could not be written. Free some space; nothing that was kept is lost"
        )
    if "disk I/O" in text:  # what Linux says when a file that is mapped into memory finds no room
        return JournalError(f"the disk of {path} is full or fails: free some space; nothing that was kept is lost")
    if "not a database" in text or "malformed" in text:
        return JournalCorrupt(f"{path} is not an SQLite database, or is damaged: restore it from a backup")
    if "readonly" in text or isinstance(error, PermissionError):
        return JournalError(f"{path} may not be written: check its permissions")
    if "unable to open" in text:
        return JournalError(f"{path} cannot be opened: check that it is a file you may write")
    return JournalError(f"{path}: {text}")
