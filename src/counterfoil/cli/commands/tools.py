"""`counterfoil tools`: the catalogue as the model sees it."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import Any

import msgspec

from counterfoil.cli.inert import inert_json
from counterfoil.cli.options import Commands, command, session_arguments, session_of, target_argument
from counterfoil.cli.output import Output, Part
from counterfoil.cli.problem import Problem
from counterfoil.cli.target import load_target
from counterfoil.cli.words import DIM, NAME
from counterfoil.tools.catalogue import Catalogue, token_cost
from counterfoil.tools.pins import Difference, Pins
from counterfoil.tools.tool import Tool

_DIFF = {"+": "green", "-": "red", "@": "cyan"}
_EFFECTS = {"read": "green", "idempotent": "green", "write": "yellow", "irreversible": "bold red"}

EXAMPLES = """
counterfoil tools shop:catalogue
counterfoil tools shop:catalogue --as ada --permission orders:read    # what ada's model is shown
counterfoil tools examples/order_desk.py:desk --schema
counterfoil tools shop:catalogue --trust                              # what is guessed of each tool, and why
counterfoil tools shop:upstream --pin pins.json                       # what they declare is reviewed: write it down
counterfoil tools shop:upstream --check-pins pins.json                # has any of it changed? exit code 1 if so
"""


def add(commands: Commands) -> None:
    """Add the command."""
    parser = command(
        commands, "tools", "show the catalogue as the model sees it, with effects, permissions and token costs",
        EXAMPLES, journal=False,
    )  # fmt: skip
    target_argument(parser)
    session_arguments(parser)
    parser.add_argument("--schema", action="store_true", help="show each tool's whole JSON Schema")
    parser.add_argument(
        "--trust", action="store_true", help="show what the provenance check takes each tool for, and what it guesses"
    )
    pins = parser.add_mutually_exclusive_group()
    pins.add_argument("--pin", metavar="FILE", help="write what every tool declares to a pin file, as reviewed")
    pins.add_argument(
        "--check-pins", metavar="FILE", help="show how the tools differ from what was reviewed; exit code 1 if they do"
    )
    parser.set_defaults(run=run)


def run(options: argparse.Namespace, out: Output) -> int:
    """Show the tools."""
    target = load_target(options.catalogue)
    tools = list(target.catalogue)
    narrowed = bool(options.permission or options.requester)
    if narrowed and (options.pin is not None or options.check_pins is not None):
        raise Problem("pins are of the whole catalogue: leave --as and --permission out")
    if "" in (options.pin, options.check_pins):
        raise Problem("the name of the pin file is empty: is a variable not set?")
    if options.pin is not None:
        return _pin(target.catalogue, options.pin, out)
    if options.check_pins is not None:
        return _check(target.catalogue, options.check_pins, out)
    if narrowed:
        session = session_of(options)
        tools = [tool for tool in tools if session.permits(tool.permission)]
    total = 0
    for tool in tools:
        total += token_cost(tool.spec)
        out.data(
            {
                "name": tool.name,
                "effect": tool.effect,
                "permission": tool.permission,
                "tokens": token_cost(tool.spec),
                "authorize": tool.authorize is not None,
                "spec": msgspec.to_builtins(tool.spec),
                "trust": {
                    "act": tool.how.act,
                    "roles": tool.how.roles,
                    **_declared(tool),
                    "guessed": tool.how.explain(),
                },
            }
        )
        _show(tool, options, out)
    hidden = len(target.catalogue) - len(tools)
    shown = f"{len(tools)} of {len(target.catalogue)} tools" if narrowed else f"{len(tools)} tools"
    out.say(f"{shown}, about {total} tokens in every request; catalogue {target.catalogue.digest[:12]}")
    if hidden:
        out.say((f"{hidden} more need permissions that this session does not hold: the model is not shown them", DIM))
    for each in target.catalogue.quarantined:
        out.data(_described(each))
        out.say((f"in quarantine: {each}", "bold red"), ("  (--check-pins FILE shows the difference)", DIM))
    return 0


def _pin(catalogue: Catalogue, path: str, out: Output) -> int:
    # Read first what it replaces: a file that holds no pins is not overwritten, and what is accepted is seen.
    before = Pins.load(path) if Path(path).exists() else Pins()
    for each in before.check(catalogue):
        _show_difference(each, out)
    pins = Pins.of(catalogue)
    pins.dump(path)
    out.note(f"{_count(len(pins.tools))} pinned in {path}: keep it with the code")
    return 0


def _check(catalogue: Catalogue, path: str, out: Output) -> int:
    differences = Pins.load(path).check(catalogue)
    for each in differences:
        _show_difference(each, out)
    if not differences:
        out.say(f"{_count(len(catalogue))} checked: nothing differs from what was reviewed in {path}")
        return 0
    out.note(
        f"{_count(len(differences))} not as reviewed in {path}: read the difference, and accept it with --pin {path}"
    )
    return 1


def _count(tools: int) -> str:
    return "1 tool" if tools == 1 else f"{tools} tools"


def _show_difference(difference: Difference, out: Output) -> None:
    out.data(_described(difference))
    out.say((str(difference), NAME))
    for line in difference.diff.split("\n"):
        out.say((line, _DIFF.get(line[:1], "")), indent=2)
    out.say()


def _described(difference: Difference) -> dict[str, Any]:
    return {
        "name": difference.name,
        "difference": difference.kind,
        "parts": difference.parts,
        "diff": difference.diff,
    }


def _show(tool: Tool, options: argparse.Namespace, out: Output) -> None:
    checked = "  authorize" if tool.authorize is not None else ""
    out.say(
        (tool.name, NAME),
        "  ",
        (tool.effect, _EFFECTS[tool.effect]),
        f"  {tool.permission or '(no permission needed)'}",
        (f"{checked}  ~{token_cost(tool.spec)} tokens", DIM),
    )
    out.say(tool.spec.description or "(no description: the model knows it by name only)", indent=4)
    if options.schema:
        out.say(msgspec.json.format(msgspec.json.encode(tool.spec.parameters), indent=2).decode(), indent=4)
    else:
        properties: dict[str, Any] = tool.spec.parameters.get("properties") or {}
        required: list[str] = tool.spec.parameters.get("required") or []
        for name, each in properties.items():
            out.say(*_parameter(name, each, name in required), indent=4)
    if options.trust:
        how = tool.how
        roles = ", ".join(f"{name}: {role}" for name, role in how.roles.items())
        out.say(("provenance: ", "bold"), how.act, (f"  {roles}", DIM), indent=4)
        for what, said in _declared(tool).items():
            out.say(f"{what}: {_compact(said)}", indent=6)
        for line in how.explain():
            out.say((line, DIM), indent=6)
    out.say()


def _declared(tool: Tool) -> dict[str, Any]:
    """What is declared of a tool beside what it does and what its arguments are for."""
    declared: dict[str, Any] = msgspec.to_builtins(tool.trust) if tool.trust is not None else {}
    return {what: said for what, said in declared.items() if what not in ("act", "roles")}


def _compact(said: Any) -> str:
    """A declaration in a line: names, or what is said of each."""
    if isinstance(said, dict):
        pairs: dict[str, Any] = dict(said)  # pyright: ignore[reportUnknownArgumentType]
        return ", ".join(
            f"{name}: {each if isinstance(each, str) else inert_json(each)}" for name, each in pairs.items()
        )
    if isinstance(said, list | tuple):
        names: list[str] = list(said)  # pyright: ignore[reportUnknownArgumentType]
        return ", ".join(names) or "none"
    return "yes" if said is True else str(said)


def _parameter(name: str, schema: Any, required: bool) -> list[Part]:
    if not isinstance(schema, dict):
        return [name]
    fields: dict[str, Any] = dict(schema)  # pyright: ignore[reportUnknownArgumentType]
    kind = fields.pop("type", None)
    described = str(fields.pop("description", ""))
    if "enum" in fields:
        kind = " | ".join(inert_json(value) for value in fields.pop("enum"))
    rest = ", ".join(
        f"{key} {inert_json(value)}" for key, value in fields.items() if key not in ("title", "properties")
    )
    words = kind if isinstance(kind, str) else inert_json(kind) if kind else ""
    optional = "" if required else " (optional)"
    return [(f"{name}{optional}: ", "bold"), words, (f"  {rest}" if rest else "", DIM), f"  {described}"]
