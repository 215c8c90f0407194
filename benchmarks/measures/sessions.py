"""Many sessions at once, ten steps each, with a model that takes 50 ms: CPU, and memory while all are alive."""

from __future__ import annotations

import asyncio
import gc
import json
import sys
import time

from benchmarks import scenario
from benchmarks.measures.child import adapters, peak
from benchmarks.scenario import FINAL, Script


async def main(name: str, count: int) -> None:
    (adapter,) = adapters(name)
    await adapter.session()(Script(2))
    gc.collect()
    before, ran = peak(), scenario.ran
    began = time.process_time()
    said = await asyncio.gather(*[adapter.session()(Script(10, 1, 0.05)) for _ in range(count)])
    took = time.process_time() - began
    assert scenario.ran - ran == 10 * count
    assert all(FINAL in str(each) for each in said)
    print(json.dumps({"cpu": took, "bytes": (peak() - before) / count, "peak": peak()}))


if __name__ == "__main__":
    asyncio.run(main(sys.argv[1], int(sys.argv[2])))
