"""The command, in a folder of its own that holds a small shop: in this process, or as a process of its own."""

from __future__ import annotations

import io
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from cli_kit import SHOP, Cli, Result, python

from counterfoil.cli.main import main


@pytest.fixture
def shop(tmp_path: Path) -> Path:
    """A folder with `shop.py`."""
    (tmp_path / "shop.py").write_text(SHOP)
    return tmp_path


@pytest.fixture
def cli(shop: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Iterator[Cli]:
    """Run the command in this process: fast."""
    monkeypatch.chdir(shop)
    for name in ("COUNTERFOIL_JOURNAL", "COUNTERFOIL_DESK", "NO_COLOR", "FORCE_COLOR"):
        monkeypatch.delenv(name, raising=False)
    path, modules = list(sys.path), set(sys.modules)

    def run(*arguments: str, code: int | None = None, stdin: str = "") -> Result:
        monkeypatch.setattr(sys, "stdin", io.StringIO(stdin))
        capsys.readouterr()
        ended = main(arguments)
        result = Result(ended, *capsys.readouterr())
        assert "Traceback" not in result.err, result
        assert code is None or result.code == code, result
        return result

    yield run
    sys.path[:] = path
    for name in set(sys.modules) - modules:
        if str(getattr(sys.modules[name], "__file__", "")).startswith(str(shop)):
            del sys.modules[name]


@pytest.fixture
def process(shop: Path) -> Cli:
    """Run `python -m counterfoil` as a process of its own."""

    def run(*arguments: str, code: int | None = None, env: dict[str, str] | None = None, stdin: str = "") -> Result:
        result = python("-m", "counterfoil", *arguments, cwd=shop, env=env, stdin=stdin)
        assert "Traceback" not in result.err, result
        assert code is None or result.code == code, result
        return result

    return run
