"""What the tests of evaluations may use."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from bfcl_kit import install


@pytest.fixture
def wheel(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """Let the wheel of our own cases be the one that is installed."""

    def forget() -> None:
        for name in [name for name in sys.modules if name.split(".")[0] == "bfcl_eval"]:
            del sys.modules[name]

    install(tmp_path / "site")
    monkeypatch.syspath_prepend(str(tmp_path / "site"))
    forget()
    yield tmp_path
    forget()
