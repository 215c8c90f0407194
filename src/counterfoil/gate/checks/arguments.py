"""3. Do the arguments fit the tool's schema?"""

from __future__ import annotations

from typing import Any, cast

from counterfoil.gate.attempt import Attempt
from counterfoil.tools.secret import SecretLost
from counterfoil.types.handle import names_in
from counterfoil.types.json import canonical, read_object
from counterfoil.types.message import ToolCall
from counterfoil.types.verdict import ALLOWED, Refusal, Verdict


def not_parsed(call: ToolCall) -> Refusal:
    """Refuse a call whose arguments could not be read: it never runs, not even with what could be."""
    return Refusal(
        "not_parsed",
        f"The arguments of {call.name} could not be read, so it was not run: "
        f"{call.parse_error or 'not a JSON object'}. "
        "Call it again with one complete JSON object.",
    )


def arguments(attempt: Attempt) -> Verdict:
    """Refuse arguments that the schema does not allow, saying all that is wrong."""
    tool, reveal = attempt.tool, attempt.reveal
    try:
        given = attempt.arguments if reveal is None else reveal(attempt.arguments)
        if tool.accepts(given):
            return ALLOWED
        found = tool.problems(given)
    except SecretLost as lost:
        return lost.refusal
    except ValueError as error:  # from the validator: a Python value that is no JSON
        why = error if reveal is None else "a value in them has no JSON form"
        return Refusal("bad_arguments", f"{tool.name} was not run, because its arguments are no JSON: {why}")
    if found and tool.coerce:
        coerced, notes = _coerce(attempt.arguments, tool.spec.parameters)
        if {*names_in(coerced)} - {*names_in(attempt.arguments)}:
            return Refusal(
                "bad_arguments",
                f"{tool.name} was not run: the name of a result that is not shown is a whole argument, or an item of a "
                "list or an object, and not part of a text.",
            )
        if notes and not tool.problems(coerced if reveal is None else reveal(coerced)):
            attempt.arguments = coerced
            attempt.notes.extend(notes)
            return ALLOWED
    lines = "\n".join(f"- {line}" for line in found)
    return Refusal("bad_arguments", f"{tool.name} was not run, because its arguments do not fit:\n{lines}")


def _coerce(values: dict[str, Any], schema: dict[str, Any]) -> tuple[dict[str, Any], list[str]]:
    """Read top-level strings as the number, boolean, array or object that the schema wants there."""
    coerced, notes = dict(values), list[str]()
    for name, value in values.items():
        wanted = _types(schema.get("properties", {}).get(name))
        if not isinstance(value, str) or not wanted or "string" in wanted:
            continue
        read, _ = read_object(f'{{"value": {value}}}')  # as strictly as any argument
        if read is None or len(read) != 1:
            continue
        coerced[name] = read["value"]
        notes.append(f"{name} was a string and was read as {canonical(read['value']).decode()[:60]}")
    return coerced, notes


def _types(schema: Any) -> list[str]:
    if not isinstance(schema, dict):
        return []
    kind: Any = cast("dict[str, Any]", schema).get("type")
    return [kind] if isinstance(kind, str) else list(kind or [])
