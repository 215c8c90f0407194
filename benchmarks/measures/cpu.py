"""CPU of a step, of one of 16 parallel calls, of set-up, and growth. The bare loop runs in between, in this process."""

from __future__ import annotations

import asyncio
import json
import sys
from statistics import median
from typing import Any

from benchmarks.measures.child import adapters, loop, timed


async def series(found: list[Any], steps: int, width: int, rounds: int) -> list[list[tuple[float, list[float]]]]:
    """Rounds of a script by each adapter in turn, after two short ones to warm up."""
    for _ in range(2):
        for each in found:
            await timed(each.session(), min(steps, 5), width)
    got: list[list[tuple[float, list[float]]]] = [[] for _ in found]
    for _ in range(rounds):
        for row, each in zip(got, found, strict=True):
            row.append(await timed(each.session(), steps, width))
    return got


def window(rows: list[tuple[float, list[float]]], first: int, last: int) -> float:
    """What a step took between two steps."""
    return median((stamps[last] - stamps[first]) / (last - first) for _, stamps in rows)


async def main(name: str) -> None:
    found = adapters(*dict.fromkeys((name, "bare")))
    result: dict[str, float] = {}
    step = await series(found, 20, 1, 11)
    parallel = await series(found, 1, 16, 25)
    long = await series(found, 200, 1, 3)
    for who, steps, calls, run in zip(("", "bare_"), step, parallel, long, strict=False):
        result[f"{who}step"] = min(loop(stamps) for _, stamps in steps) / 20
        result[f"{who}setup"] = min(took - loop(stamps) for took, stamps in steps)
        result[f"{who}call"] = min(loop(stamps) for _, stamps in calls) / 16
        result[f"{who}growth"] = window(run, 189, 199) / window(run, 5, 15)
    print(json.dumps(result))


if __name__ == "__main__":
    asyncio.run(main(sys.argv[1]))
