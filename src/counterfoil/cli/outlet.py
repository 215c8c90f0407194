"""A stream whose reader may go away: what is written from then on is dropped, and whoever writes goes on."""

from __future__ import annotations

import os
from collections.abc import Generator
from contextlib import contextmanager
from typing import Any, TextIO


class Outlet:
    """Standard output, or standard error; whatever it does not know is the stream's own.

    A command does not stop at its work because nobody reads any more (`| head`). One that has no work but to write sets
    `needed`: then `BrokenPipeError` is raised. `gone` says that there is no reader.
    """

    def __init__(self, stream: TextIO) -> None:
        self._stream = stream
        self.needed = False
        self.gone = False

    def write(self, text: str) -> int:
        """Write text. Returns its length."""
        with self._heedless():
            self._stream.write(text)
        return len(text)

    def write_bytes(self, data: bytes) -> None:
        """Write bytes, which must not be taken for text."""
        with self._heedless():
            self._stream.flush()
            self._stream.buffer.write(data)
            self._stream.buffer.flush()

    def flush(self) -> None:
        """Let everything out."""
        with self._heedless():
            self._stream.flush()

    def __getattr__(self, name: str) -> Any:
        return getattr(self._stream, name)

    @contextmanager
    def _heedless(self) -> Generator[None]:
        try:
            yield
        except BrokenPipeError:
            # Nobody finds it out again: with what is still buffered, a tool that prints, or Python as it exits.
            with open(os.devnull, "wb") as nowhere:
                os.dup2(nowhere.fileno(), self._stream.fileno())
            self.gone = True
            if self.needed:
                raise
