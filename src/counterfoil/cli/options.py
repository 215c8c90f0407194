"""Arguments that several commands share, and how they are read."""

from __future__ import annotations

import argparse
import getpass
import os
import re
import time
from datetime import datetime
from typing import Any

import msgspec

from counterfoil.cli.problem import Problem
from counterfoil.types.json import read_object
from counterfoil.types.session import Budget, Session

Commands = Any
"""What `ArgumentParser.add_subparsers` returns; argparse gives its type no public name."""

EXIT_CODES = "exit codes: 0 done; 1 it ended otherwise (refused, waiting, failed, differs); 2 usage or bad input"


def command(
    commands: Commands, name: str, summary: str, examples: str, *, journal: bool = True, json: bool = True
) -> argparse.ArgumentParser:
    """Add a command with its one-sentence summary and its examples."""
    lines = "\n".join(f"  {line}" for line in examples.strip().splitlines())
    parser: argparse.ArgumentParser = commands.add_parser(
        name,
        help=summary,
        description=summary[0].upper() + summary[1:] + ".",
        epilog=f"examples:\n{lines}\n\n{EXIT_CODES}",
        formatter_class=argparse.RawDescriptionHelpFormatter,
        allow_abbrev=False,
    )
    if journal:
        parser.add_argument(
            "--journal",
            metavar="PATH",
            default=None,
            help="the journal: a file or postgresql://... (default: $COUNTERFOIL_JOURNAL, else counterfoil.db)",
        )
        parser.add_argument(
            "--wait", metavar="SECONDS", type=float, default=5.0, help="how long to wait for a locked journal"
        )
    if json:
        parser.add_argument("--json", action="store_true", help="print JSON, one value a line")
    parser.add_argument("--debug", action="store_true", help="show tracebacks and the log")
    return parser


def journal_path(options: argparse.Namespace) -> str:
    """Where the journal is: as given, else from the environment, else the default."""
    return options.journal or os.environ.get("COUNTERFOIL_JOURNAL") or "counterfoil.db"


def journal_given(options: argparse.Namespace) -> bool:
    """Whether the user said where the journal is."""
    return bool(options.journal or os.environ.get("COUNTERFOIL_JOURNAL"))


def target_argument(parser: argparse.ArgumentParser, *, optional: bool = False) -> None:
    """Add `module:attribute`."""
    parser.add_argument(
        "catalogue",
        metavar="module:attribute",
        nargs="?" if optional else None,
        help="a Catalogue, a list of tools, a Harness, or a function that returns one; also path/to/file.py:attribute",
    )


def session_arguments(parser: argparse.ArgumentParser) -> None:
    """Add who asks, and what they may do."""
    parser.add_argument("--as", dest="requester", metavar="NAME", help="the signed-in person (default: you)")
    parser.add_argument(
        "--permission",
        metavar="SCOPE",
        action="append",
        default=[],
        help="a permission of theirs, like orders:read or 'orders:*'; may be repeated",
    )
    parser.add_argument(
        "--attribute",
        metavar="NAME=VALUE",
        action="append",
        default=[],
        help="a fact about them for authorize, like tenant=eu; JSON or plain text; may be repeated",
    )


def session_of(options: argparse.Namespace, budget: Budget | None = None) -> Session:
    """The session that the options describe. Raises `Problem`."""
    attributes: dict[str, Any] = {}
    for each in options.attribute:
        name, equals, value = each.partition("=")
        if not equals or not name:
            raise Problem(f"--attribute {each}: write NAME=VALUE, like --attribute tenant=eu")
        attributes[name] = _value(value)
    return Session(
        requester=options.requester or me(),
        permissions=frozenset(options.permission),
        attributes=attributes,
        budget=budget or Budget(),
    )


def me() -> str:
    """The name of whoever runs the command. Raises `Problem` when the system does not know it."""
    try:
        return getpass.getuser()
    except (OSError, KeyError) as error:
        raise Problem("the system does not know your name: say who you are with --as NAME or --by NAME") from error


_AGE = re.compile(r"(\d+(?:\.\d+)?)\s*([smhdw])")
_SECONDS = {"s": 1, "m": 60, "h": 3600, "d": 86400, "w": 7 * 86400}


def moment(text: str, what: str) -> float:
    """The Unix time of an age (`30d`: that long ago) or of a date, in local time where it says no other.

    Raises `Problem`.
    """
    if age := _AGE.fullmatch(text.strip().lower()):
        return time.time() - float(age[1]) * _SECONDS[age[2]]
    try:
        return datetime.fromisoformat(text).timestamp()
    except ValueError as error:
        raise Problem(f"{what} {text}: write an age, like 30d, 12h or 8w, or a date, like 2026-01-31") from error


def object_of(text: str, what: str) -> dict[str, Any]:
    """Read one JSON object from the command line, as strictly as a model's. Raises `Problem`."""
    found, error = read_object(text)
    if found is None:
        raise Problem(f"""{what}: {error}. Write one JSON object in single quotes, like '{{"order_id": "ORD-1"}}'""")
    return found


def _value(text: str) -> Any:
    try:
        return msgspec.json.decode(text)
    except msgspec.DecodeError:
        return text
