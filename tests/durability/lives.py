"""Processes that are quickly made: forks of one that has imported everything and has no other thread."""

from __future__ import annotations

import gc
import os
import shutil
import subprocess
import sys
import tempfile
import traceback
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import msgspec


def fork(body: Callable[[], object]) -> int:
    """Do something in a child of this process; its pid. What it raises goes to stderr, and it exits with 1."""
    gc.freeze()  # what is there now is the child's too, and not for it to collect
    pid = os.fork()
    if pid:
        return pid
    code = 1
    try:
        body()
        code = 0
    except BaseException:  # noqa: BLE001 there is nobody else to say it
        traceback.print_exc()
    finally:
        os._exit(code)


def end(pid: int) -> int:
    """Wait for a child; its exit code, or minus the signal that killed it."""
    return os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])


class Asked:
    """A child that says what something returns when it is done."""

    def __init__(self, body: Callable[[], Any]) -> None:
        reader, writer = os.pipe()

        def answer() -> None:
            with os.fdopen(writer, "wb") as pipe:
                pipe.write(msgspec.json.encode(body()))

        self.pid = fork(answer)
        os.close(writer)
        self._pipe = os.fdopen(reader, "rb")

    def answer(self) -> Any:
        """Wait for it."""
        with self._pipe as pipe:
            said = pipe.read()
        if code := end(self.pid):
            raise AssertionError(f"a child ended with {code}")
        return msgspec.json.decode(said)


def ask(body: Callable[[], Any]) -> Any:
    """What something returns when it is done in a child."""
    return Asked(body).answer()


def memory() -> str | None:
    """Where files cost no disk. A killed process loses nothing that it has handed to the system, wherever that is."""
    return "/dev/shm" if os.access("/dev/shm", os.W_OK) else None  # where there is one


@contextmanager
def scratch() -> Iterator[Path]:
    """A folder in memory, gone afterwards."""
    folder = Path(tempfile.mkdtemp(prefix="cf-lives-", dir=memory()))
    try:
        yield folder
    finally:
        shutil.rmtree(folder)


def start(script: str, order: Any) -> subprocess.Popen[bytes]:
    """Start a script of this folder; it reads its order from stdin, as JSON."""
    command = [sys.executable, str(Path(__file__).with_name(script))]
    process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE)
    assert process.stdin is not None
    process.stdin.write(msgspec.json.encode(order))
    process.stdin.close()
    return process


def answers(script: str, *orders: Any) -> list[Any]:
    """What a script makes of some orders, carried out at the same time."""
    processes = [start(script, order) for order in orders]
    said: list[bytes] = []
    for each in processes:
        assert each.stdout is not None
        with each.stdout as pipe:
            said.append(pipe.read())
    codes = [each.wait() for each in processes]
    assert codes == [0] * len(codes), f"{script} ended with {codes}"
    return [msgspec.json.decode(each) for each in said]


def obey(carry_out: Callable[[Any], Any]) -> None:
    """Be such a script."""
    said = carry_out(msgspec.json.decode(sys.stdin.buffer.read()))
    sys.stdout.buffer.write(msgspec.json.encode(said))
