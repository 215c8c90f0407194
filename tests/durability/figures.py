"""What the rows of the table came to, for whoever wants to read the numbers. As a script: prints those of a file."""

from __future__ import annotations

import os
import sys
from pathlib import Path
from typing import Any

import msgspec


def report(row: str, **figures: int | float | str) -> None:
    """Add a line of JSON to the file that `DURABILITY_REPORT` names, if it names one."""
    if path := os.environ.get("DURABILITY_REPORT"):
        with Path(path).open("ab") as file:
            file.write(msgspec.json.encode({"row": row, **figures}) + b"\n")


def main(path: str) -> None:
    """Print a line per row."""
    for line in Path(path).read_text().splitlines():
        figures: dict[str, Any] = msgspec.json.decode(line)
        row = figures.pop("row")
        print(f"{row}: {', '.join(f'{name} {figure}' for name, figure in figures.items())}")  # noqa: T201 a script


if __name__ == "__main__":
    main(sys.argv[1])
