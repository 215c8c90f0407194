"""Ctrl-C, heard whenever it comes: acted on there and then, or noted and acted on where something is waited for."""

from __future__ import annotations

import signal
import threading
from collections.abc import Awaitable, Callable, Generator
from contextlib import contextmanager
from types import FrameType, TracebackType
from typing import Any, Self, TypeVar

from anyio.from_thread import BlockingPortal

T = TypeVar("T")

_BEAT = 0.1
"""Seconds within which Ctrl-C is heard while a line is read."""
_PATIENCE = 10.0
"""Seconds that what was cancelled has to end in, and what must not be cancelled to be done in."""


@contextmanager
def stoppable() -> Generator[None]:
    """Within it, Ctrl-C ends what is done there and then, with a `KeyboardInterrupt`: for what may be cut off anywhere.

    An event loop's own way is to cancel its main task, and work that computes and never waits does not hear of that.
    Whatever came of it (task groups make groups of what they are hit by), it leaves here as `KeyboardInterrupt`.
    """
    main = threading.current_thread() is threading.main_thread()
    if not main or signal.getsignal(signal.SIGINT) is not signal.default_int_handler:
        yield  # somebody else hears it, or was told not to
        return
    pressed = False

    def press(number: int, frame: FrameType | None) -> None:
        nonlocal pressed
        pressed = True
        raise KeyboardInterrupt

    signal.signal(signal.SIGINT, press)
    try:
        yield
    except BaseException as error:
        if pressed and not isinstance(error, KeyboardInterrupt):
            raise KeyboardInterrupt from error
        raise
    finally:
        signal.signal(signal.SIGINT, signal.default_int_handler)


def _read(question: str) -> str:
    return input(question)


class Interrupts:
    """Within it, in the main thread, Ctrl-C breaks off the reading of a line or the work that is waited for.

    Nothing else is ever interrupted: pressed in between, it counts for what is waited for next. `pressed` says that it
    was, and that nothing was broken off for it yet.
    """

    def __init__(self, portal: BlockingPortal) -> None:
        self._portal = portal
        self.pressed = False
        self._former: dict[int, Any] = {}

    def __enter__(self) -> Self:
        handlers: dict[int, Callable[[int, FrameType | None], None]] = {signal.SIGINT: self._press}
        if hasattr(signal, "setitimer"):
            handlers[signal.SIGALRM] = self._beat
        self._former = {number: signal.signal(number, handler) for number, handler in handlers.items()}
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        for number, handler in self._former.items():
            signal.signal(number, handler)

    def line(self, question: str) -> str:
        """Read a line from the terminal. Raises `KeyboardInterrupt`, and `EOFError` when nobody will answer.

        A signal that comes after `input` has shown its prompt and before it sleeps does not wake it: it would be heard
        with the next key. So for as long as it sleeps it is woken now and then, for Python to look what has come.
        """
        self._break_off()
        self._wake(_BEAT)
        try:
            return _read(question)
        except (KeyboardInterrupt, SystemError):
            # Of two signals at once CPython handles the second with the first one's exception set: a SystemError.
            if not self.pressed:
                raise
            self.pressed = False
            raise KeyboardInterrupt from None
        finally:
            self._wake(0)

    def do(self, work: Callable[[], Awaitable[T]]) -> T:
        """Do work in the event loop's thread. Raises `KeyboardInterrupt` once it has been cancelled and has ended."""
        self._break_off()
        over = threading.Event()

        async def watched() -> T:
            try:
                return await work()
            finally:
                over.set()

        future = self._portal.start_task_soon(watched)
        while not over.wait(_BEAT) and not future.done():
            if self.pressed:
                future.cancel()
                over.wait(_PATIENCE)
                self._break_off()
        return future.result()

    def finish(self, work: Callable[[], Awaitable[T]]) -> T:
        """Do work that Ctrl-C does not break off. Raises `TimeoutError` when it takes too long."""
        return self._portal.start_task_soon(work).result(_PATIENCE)

    def _break_off(self) -> None:
        if self.pressed:
            self.pressed = False
            raise KeyboardInterrupt

    def _press(self, number: int, frame: FrameType | None) -> None:
        self.pressed = True
        self._beat(number, frame)

    def _beat(self, _: int, frame: FrameType | None) -> None:
        # Raised in the one function that does nothing but read, it cannot hit anything that tidies up.
        if self.pressed and frame is not None and frame.f_code is _read.__code__:
            raise KeyboardInterrupt

    def _wake(self, every: float) -> None:
        if hasattr(signal, "setitimer"):  # where there is none, a console's read is ended by Ctrl-C itself
            signal.setitimer(signal.ITIMER_REAL, every, every)
