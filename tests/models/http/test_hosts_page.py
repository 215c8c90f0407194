"""The table of hosts in docs/models.md is that of the data. Run this file to write it anew."""

from __future__ import annotations

import re
from pathlib import Path

from counterfoil.models.hosts import HOSTS, Host

PAGE = Path(__file__).parents[3] / "docs" / "models.md"
TABLE = re.compile(r"(<!-- the table: .*? -->\n).*?(<!-- the end of the table -->)", re.DOTALL)


def table() -> str:
    """All hosts as a table."""
    head = "| write | host | wire | address | key |\n| --- | --- | --- | --- | --- |\n"
    return head + "".join([_row(host) for host in HOSTS.values()])


def _row(host: Host) -> str:
    address = f"`{host.base}`"
    if host.base_variables:
        address += f" ({' or '.join([f'`{name}`' for name in host.base_variables])})"
    key = " or ".join([f"`{name}`" for name in host.key_variables])
    key = key if host.key_needed else f"({key})"
    return f"| `{host.name}:{host.example}` | {host.title} | `{host.wire}` | {address} | {key} |\n"


def test_the_page_shows_the_hosts() -> None:
    found = TABLE.search(PAGE.read_text())
    assert found is not None
    assert found.group(0) == found.group(1) + table() + found.group(2), (
        "run python tests/models/http/test_hosts_page.py"
    )


if __name__ == "__main__":
    PAGE.write_text(TABLE.sub(lambda found: found.group(1) + table() + found.group(2), PAGE.read_text()))
