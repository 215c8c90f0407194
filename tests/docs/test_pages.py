"""Every example in the docs is a file that runs, and every page shows what it really prints."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
PAGES = [ROOT / "README.md", ROOT / "CONTRIBUTING.md", *sorted((ROOT / "docs").glob("*.md"))]


def test_pages_show_the_examples_and_what_they_print() -> None:
    checked = subprocess.run(
        [sys.executable, str(ROOT / "scripts" / "docs"), "--check"], capture_output=True, text=True, check=False
    )
    assert checked.returncode == 0, checked.stdout + checked.stderr


def test_every_example_is_on_a_page() -> None:
    shown = set(re.findall(r"<!-- docs_src/(\w+\.py) -->", "".join(page.read_text() for page in PAGES)))
    written = {path.name for path in (ROOT / "docs_src").glob("*.py")}
    assert written == shown


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.stem)
def test_links_lead_somewhere(page: Path) -> None:
    for target in re.findall(r"\]\((?!https?:)([^)#]+)(?:#[^)]*)?\)", page.read_text()):
        assert (page.parent / target).exists(), f"{page.name} links to {target}, which is not there"
