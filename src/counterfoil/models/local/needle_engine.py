"""Needle 3 behind the engine port, in a child process (`needle_worker.py` says why)."""

from __future__ import annotations

import contextlib
import json
import os
import subprocess
import sys
import threading
from pathlib import Path
from queue import Empty, SimpleQueue
from typing import Any

from counterfoil.models.local import extra
from counterfoil.models.local.engine import Decoded, Listener, Piece
from counterfoil.types.error import ContextOverflow, ModelError
from counterfoil.types.request import Sampling

_PATIENCE = 0.05
"""Seconds between two looks at the cancellation while nothing comes."""
_START = 30.0
"""Seconds that the child may take to load."""
_WORKER = Path(__file__).with_name("needle_worker.py")
_ENVIRONMENT = ("PATH", "HOME", "LD_LIBRARY_PATH", "PYTHONPATH", "SYSTEMROOT", "TMPDIR", "TEMP", "VIRTUAL_ENV")
"""What the child may see of our environment: no keys, no passwords."""


class NeedleEngine:
    """Runs Needle. A prompt is `write_prompt`'s JSON; grammars are not enforced, so `check` refuses every one."""

    context = 8192

    def __init__(self, path: Path) -> None:
        extra.check(extra.NEEDLE)
        self._path = path
        self._child: subprocess.Popen[str] | None = None
        self._lines: SimpleQueue[str | None] = SimpleQueue()
        self._start()

    def check(self, grammar: str) -> str | None:
        """Refuse: Needle has a format of its own."""
        del grammar
        return "Needle does not take grammars"

    def decode(self, prompt: str, grammar: str | None, sampling: Sampling, listener: Listener) -> Decoded:
        """Answer one prompt. Stopping kills the child; the next prompt starts another."""
        if grammar is not None:
            raise ModelError("Needle does not take grammars.")
        if len(prompt) > self.context * 3:
            raise ContextOverflow(
                f"The request and the catalogue are longer than Needle's {self.context} tokens: offer fewer tools."
            )
        child = self._child if self._child is not None and self._child.poll() is None else self._start()
        asked = {**json.loads(prompt), "temperature": sampling.temperature, "seed": sampling.seed}
        assert child.stdin is not None
        child.stdin.write(json.dumps(asked) + "\n")
        child.stdin.flush()
        output = 0
        while True:
            said = self._next(_PATIENCE)
            if said is None or "piece" in said:
                piece = None if said is None else Piece(said["piece"])
                output += piece is not None
                if listener(piece):
                    self._kill()
                    return Decoded("cancelled", output=output)
            elif "error" in said:
                raise ModelError(f"Needle failed: {said['error']}")
            else:
                return Decoded("end", output=output)

    def close(self) -> None:
        """End the child."""
        self._kill()

    def _start(self) -> subprocess.Popen[str]:
        self._lines = SimpleQueue()
        child = subprocess.Popen(  # noqa: S603 - this interpreter and our own file
            [sys.executable, str(_WORKER), str(self._path)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            text=True,
            encoding="utf-8",
            env={name: os.environ[name] for name in _ENVIRONMENT if name in os.environ},
        )
        self._child = child
        threading.Thread(target=_pump, args=(child, self._lines), name="counterfoil-needle", daemon=True).start()
        if (said := self._next(_START)) is None or "ready" not in said:
            self._kill()
            raise ModelError("Needle did not start.")
        return child

    def _next(self, patience: float) -> dict[str, Any] | None:
        try:
            line = self._lines.get(timeout=patience)
        except Empty:
            return None
        if line is None:
            self._kill()
            raise ModelError("Needle's process ended unexpectedly.")
        said: dict[str, Any] = json.loads(line)
        return said

    def _kill(self) -> None:
        if (child := self._child) is None:
            return
        self._child = None
        child.kill()
        child.wait()
        if child.stdin is not None:
            with contextlib.suppress(OSError):
                child.stdin.close()


def write_prompt(query: str, tools: list[dict[str, Any]]) -> str:
    """Write what `NeedleEngine.decode` takes: a question and the tools as declarations."""
    return json.dumps({"query": query, "tools": json.dumps(tools)})


def _pump(child: subprocess.Popen[str], lines: SimpleQueue[str | None]) -> None:
    assert child.stdout is not None
    with child.stdout as source:
        for line in source:
            lines.put(line)
    lines.put(None)
