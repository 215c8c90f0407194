"""How long the path of a call is: `scripts/footprint` prints it, and it must not grow unseen."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parents[2]
FILES = 16
"""Each check of the gate is a file of its own, so that it can be read by itself: three of these."""


def test_one_tool_call_takes_a_short_path() -> None:
    script = [sys.executable, str(ROOT / "scripts" / "footprint"), "--list"]
    printed = subprocess.run(script, capture_output=True, text=True, check=True, timeout=60).stdout
    counted = re.match(r"one tool call enters (\d+) files and (\d+) functions of ours\n", printed)
    assert counted is not None
    files, functions = int(counted[1]), int(counted[2])
    assert files <= FILES, printed
    assert functions <= 60, printed
    for file in ("gate/gate.py", "run/state.py", "run/perform.py", "journal/memory.py"):
        assert f"  {file}: " in printed, "what every call passes is counted"
