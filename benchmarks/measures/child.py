"""What every measure does first, in the venv of the harness that it measures."""

from __future__ import annotations

import gc
import importlib
import logging
import os
import resource
import sys
import time
import warnings
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

from benchmarks import scenario
from benchmarks.scenario import FINAL, Script

ROOT = Path(__file__).resolve().parents[2]
WORK = ROOT / "bench-work"


def adapters(*names: str) -> list[Any]:
    """Import adapters, quietly: telemetry and logs off, one core, the bare loop's validator last on the path."""
    os.environ.setdefault("OTEL_SDK_DISABLED", "true")
    warnings.simplefilter("ignore")
    if hasattr(os, "sched_setaffinity"):
        os.sched_setaffinity(0, {max(os.sched_getaffinity(0))})
    sys.path.extend(str(each) for each in (WORK / "venvs" / "bare").glob("lib/python*/site-packages"))
    found = [importlib.import_module(f"benchmarks.adapters.{name}") for name in names]
    logging.disable(logging.CRITICAL)
    return found


async def timed(run: Callable[[Script], Awaitable[str]], steps: int, width: int = 1) -> tuple[float, list[float]]:
    """Work one fresh script off; the CPU seconds it took, and the CPU clock at each turn of the model."""
    script = Script(steps, width)
    before = scenario.ran
    gc.collect()
    began = time.process_time()
    said = await run(script)
    took = time.process_time() - began
    assert scenario.ran - before == steps * width, f"{scenario.ran - before} calls ran, not {steps * width}"
    assert FINAL in str(said), said
    return took, script.stamps


def loop(stamps: list[float]) -> float:
    """From the first turn of the model to the last: the steps, without beginning and end."""
    return stamps[-1] - stamps[0]


def peak() -> int:
    """The most bytes of memory that this process has held."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024
