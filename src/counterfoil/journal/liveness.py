"""Is the process that owns a run alive? One lock file a process, no clock (DURABILITY: a clock only guesses)."""

from __future__ import annotations

import os
import secrets
from pathlib import Path

try:
    import fcntl
except ImportError:  # Windows: nobody can tell, so nobody is believed dead; fencing still holds
    fcntl = None  # type: ignore[assignment]


class Presence:
    """Holds this process's lock beside a journal, and looks at those of others."""

    def __init__(self, folder: Path) -> None:
        self.owner = f"{os.getpid()}-{secrets.token_hex(6)}"
        self._folder = folder
        self._pid = os.getpid()
        folder.mkdir(parents=True, exist_ok=True)
        self._path = folder / self.owner
        self._file = os.open(self._path, os.O_CREAT | os.O_RDWR, 0o600)
        if fcntl is not None:
            fcntl.flock(self._file, fcntl.LOCK_EX)

    def alive(self, owner: str) -> bool:
        """Whether another owner's process still holds its lock."""
        if owner == self.owner:
            return True
        if not owner:
            return False
        try:
            file = os.open(self._folder / owner, os.O_RDWR)
        except FileNotFoundError:
            return False
        try:
            if fcntl is None:
                return True
            fcntl.flock(file, fcntl.LOCK_SH | fcntl.LOCK_NB)  # shared: several may look at once
        except BlockingIOError:
            return True
        else:
            (self._folder / owner).unlink(missing_ok=True)
            return False
        finally:
            os.close(file)

    def close(self) -> None:
        """Let go of the lock."""
        if self._file >= 0 and os.getpid() == self._pid:
            self._path.unlink(missing_ok=True)
            os.close(self._file)
            self._file = -1
