"""`counterfoil tools --trust` shows what was declared, and what was guessed."""

from __future__ import annotations

from pathlib import Path

from cli_kit import Cli

VAULT = """
from typing import Annotated
from counterfoil import Catalogue, Plain, System, Target, Trust, Untrusted, tool

@tool(
    effect="read",
    returns={"id": System, "note": Untrusted},
    trust=Trust(
        keys="name", secret=("pin",), private=True, author="by", widens={"url": "fetch"}, words={"name": {"v": "vault"}}
    ),
)
def read_vault(name: str, url: str = "") -> dict[str, str]:
    "Read a vault."

@tool(effect="read", trust=Trust(opaque=True, keys=()))
def fetch_page(url: Annotated[str, Plain]) -> str:
    "Fetch a page."

@tool
def pay(to: Annotated[str, Target]) -> str:
    "Pay."

vault = Catalogue([read_vault, fetch_page, pay])
"""
DECLARED = {
    "returns": {"id": "system", "note": "untrusted"},
    "secret": ["pin"],
    "private": True,
    "keys": ["name"],
    "author": "by",
    "widens": {"url": "fetch"},
    "words": {"name": {"v": ["vault"]}},
}


def test_what_was_declared_is_shown_a_line_each(cli: Cli, shop: Path) -> None:
    (shop / "vault.py").write_text(VAULT)
    vault, page, pay = cli("tools", "vault:vault", "--trust", code=0).out.split("\n\n")[:3]
    lines = [line.strip() for line in vault.split("\n")]
    at = lines.index("returns: id: system, note: untrusted")
    assert lines[at : at + 7] == [
        "returns: id: system, note: untrusted",
        "secret: pin",
        "private: yes",
        "keys: name",
        "author: by",
        "widens: url: fetch",
        'words: name: {"v":["vault"]}',
    ]
    assert "      keys: none\n      opaque: yes\n" in page
    assert "url: plain" in page
    assert "to: target" in pay
    assert "secret" not in page + pay


def test_the_same_is_told_to_programs(cli: Cli, shop: Path) -> None:
    (shop / "vault.py").write_text(VAULT)
    vault, page, pay = (each["trust"] for each in cli("tools", "vault:vault", "--json", code=0).lines)
    assert {name: each for name, each in vault.items() if name not in ("act", "roles", "guessed")} == DECLARED
    assert (page["keys"], page["opaque"], page["roles"]) == ([], True, {"url": "plain"})
    assert pay.keys() == {"act", "roles", "guessed"}
