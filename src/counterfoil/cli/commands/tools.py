"""`counterfoil tools`: the catalogue as the model sees it."""

from __future__ import annotations

import argparse
from typing import Any

import msgspec

from counterfoil.cli.inert import inert_json
from counterfoil.cli.options import Commands, command, session_arguments, session_of, target_argument
from counterfoil.cli.output import Output, Part
from counterfoil.cli.target import load_target
from counterfoil.cli.words import DIM, NAME
from counterfoil.tools.catalogue import token_cost
from counterfoil.tools.tool import Tool

_EFFECTS = {"read": "green", "idempotent": "green", "write": "yellow", "irreversible": "bold red"}

EXAMPLES = """
counterfoil tools shop:catalogue
counterfoil tools shop:catalogue --as ada --permission orders:read    # what ada's model is shown
counterfoil tools examples/order_desk.py:desk --schema
counterfoil tools shop:catalogue --trust                              # what is guessed of each tool, and why
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
    parser.set_defaults(run=run)


def run(options: argparse.Namespace, out: Output) -> int:
    """Show the tools."""
    target = load_target(options.catalogue)
    tools = list(target.catalogue)
    narrowed = bool(options.permission or options.requester)
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
                "trust": {"act": tool.how.act, "roles": tool.how.roles, "guessed": tool.how.explain()},
            }
        )
        _show(tool, options, out)
    hidden = len(target.catalogue) - len(tools)
    shown = f"{len(tools)} of {len(target.catalogue)} tools" if narrowed else f"{len(tools)} tools"
    out.say(f"{shown}, about {total} tokens in every request; catalogue {target.catalogue.digest[:12]}")
    if hidden:
        out.say((f"{hidden} more need permissions that this session does not hold: the model is not shown them", DIM))
    return 0


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
        for line in how.explain():
            out.say((line, DIM), indent=6)
    out.say()


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
