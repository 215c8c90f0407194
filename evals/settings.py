"""Under which settings a folder of results was begun: what was measured otherwise does not stand beside it."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import msgspec

from counterfoil.cli.problem import Problem

SETTINGS = "settings.json"


def agree(folder: Path, settings: Mapping[str, Any], hint: str = "Choose another folder with --out") -> None:
    """Write the settings down in an empty folder, or see that they are the same. Raises `Problem`, with the `hint`."""
    path = folder / SETTINGS
    try:
        kept: dict[str, Any] = msgspec.json.decode(path.read_bytes(), type=dict[str, Any])
    except FileNotFoundError:
        path.write_bytes(msgspec.json.format(msgspec.json.encode(settings), indent=2) + b"\n")
        return
    except msgspec.MsgspecError as error:
        raise Problem(f"{path} cannot be read ({error}): delete it, or choose another folder with --out") from None
    other = [name for name in sorted({*kept, *settings}) if kept.get(name) != settings.get(name)]
    if other:
        told = "; ".join(f"{name} was {kept.get(name)!r} and is now {settings.get(name)!r}" for name in other)
        raise Problem(f"{folder} holds a run with other settings: {told}. {hint}")
