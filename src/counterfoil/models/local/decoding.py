"""One decoding on a thread of its own, read as it goes on, under asyncio and trio alike."""

from __future__ import annotations

import threading
from collections.abc import AsyncGenerator
from queue import Empty, SimpleQueue

import anyio

from counterfoil.models.local.engine import Decoded, Engine, Piece
from counterfoil.types.request import Sampling

_PATIENCE = 0.05
"""Seconds between two looks at the cancellation while another decoding has the engine."""


class Decoding:
    """Iterate over `pieces`; `result` is there when they end. `stop` ends it within one token."""

    def __init__(
        self, engine: Engine, lock: threading.Lock, prompt: str, grammar: str | None, sampling: Sampling
    ) -> None:
        self.result = Decoded("cancelled")
        self._engine, self._lock = engine, lock
        self._prompt, self._grammar, self._sampling = prompt, grammar, sampling
        self._stopped = threading.Event()
        self._queue: SimpleQueue[Piece | Decoded | BaseException] = SimpleQueue()

    def stop(self) -> None:
        """Ask the engine to end: it looks after each token, and after each batch while it reads the prompt."""
        self._stopped.set()

    async def pieces(self) -> AsyncGenerator[Piece]:
        """Decode. Once only."""
        threading.Thread(target=self._run, name="counterfoil-decoding", daemon=True).start()
        try:
            while True:
                for item in await anyio.to_thread.run_sync(self._take, abandon_on_cancel=True):
                    if isinstance(item, BaseException):
                        raise item
                    if isinstance(item, Decoded):
                        self.result = item
                        return
                    yield item
        finally:
            # Also when the reader is cancelled: the thread sees it, and lets go of the engine.
            self.stop()

    def _take(self) -> list[Piece | Decoded | BaseException]:
        found = [self._queue.get()]
        try:
            while True:
                found.append(self._queue.get_nowait())
        except Empty:
            return found

    def _listen(self, piece: Piece | None) -> bool:
        if self._stopped.is_set():
            return True
        if piece is not None:
            self._queue.put(piece)
        return False

    def _run(self) -> None:
        while not self._lock.acquire(timeout=_PATIENCE):
            if self._stopped.is_set():
                self._queue.put(Decoded("cancelled"))
                return
        try:
            result: Decoded | BaseException = self._engine.decode(
                self._prompt, self._grammar, self._sampling, self._listen
            )
        except BaseException as error:  # noqa: BLE001 - raised again in the reader
            result = error
        finally:
            self._lock.release()
        self._queue.put(result)
