"""Instructions of a step, of one of 16 parallel calls, of set-up, and growth: the same on a busy machine.

Run under callgrind by `benchmarks.workshop`, which reads the counts. `step`: 3 runs of 20 steps; `call`: 3 runs
of one turn with 16 calls; `setup`: 3 runs that call nothing, which is what the two before contain once a run; `early`
and `late`: steps 10 to 20 and the last ten of one long run, no cyclic GC.
"""

from __future__ import annotations

import asyncio
import ctypes
import gc
import sys
from typing import Any

from benchmarks.measures.child import adapters
from benchmarks.scenario import Script

DIVISORS = {"step": 60, "call": 48, "setup": 3, "early": 10, "late": 10}


class Windowed(Script):
    """Counts between steps 10 and 20 and between the last ten steps only."""

    def __init__(self, steps: int, library: Any, who: str) -> None:
        super().__init__(steps)
        self.library, self.who = library, who

    def turn(self) -> list[tuple[str, str, str]] | None:
        windows = ((10, 20, "early"), (self.steps - 11, self.steps - 1, "late"))
        for _, last, name in windows:
            if self.done == last:
                self.library.count_off(f"{self.who}_{name}".encode())
        said = super().turn()
        for first, _, _ in windows:
            if self.done - 1 == first:
                self.library.count_on()
        return said


async def main(library: Any, name: str, long: int) -> None:
    for who, adapter in zip((name, "bare"), adapters(*dict.fromkeys((name, "bare"))), strict=False):
        for steps, width in ((3, 1), (3, 1), (1, 16), (1, 16)):
            await adapter.session()(Script(steps, width))
        for region, steps, width in (("step", 20, 1), ("call", 1, 16), ("setup", 0, 1)):
            jobs = [(adapter.session(), Script(steps, width)) for _ in range(3)]
            gc.collect()
            library.count_on()
            for run, script in jobs:
                await run(script)
            library.count_off(f"{who}_{region}".encode())
        gc.collect()
        gc.disable()
        await adapter.session()(Windowed(long, library, who))
        gc.enable()


if __name__ == "__main__":
    asyncio.run(main(ctypes.CDLL(sys.argv[1]), sys.argv[2], int(sys.argv[3])))
