"""What must be equal after a journey: everything but what is ours alone, and what the losses say."""

from __future__ import annotations

from typing import Any

import msgspec

from counterfoil.types.request import Request
from counterfoil.wires.wire import Loss


class _Any:
    def __repr__(self) -> str:
        return "ANY"


ANY = _Any()
_DEFAULTS = {"mode": "auto", "kind": "function", "name": "answer"}
"""Defaults that encoding leaves out only where they are the very same string."""


def normal(request: Request, losses: tuple[Loss, ...] = ()) -> Any:
    """A request as JSON, without what no wire carries; what `losses` name is gone, or may be anything."""
    tree = msgspec.json.decode(msgspec.json.encode(msgspec.structs.replace(request, messages=tuple(request.messages))))
    ids: dict[str, str] = {}
    _number(tree["messages"], ids)
    for loss in losses:
        if loss.carried in ("rewritten", "placeholder"):
            _replace(tree, loss)
    for loss in sorted(losses, key=lambda loss: _keys(loss.path), reverse=True):
        if loss.carried == "dropped":
            _delete(tree, loss)
    return _clean(tree, ids)


def matches(expected: Any, found: Any, path: str = "") -> list[str]:
    """Where `found` is not as expected."""
    if expected is ANY:
        return []
    if isinstance(expected, dict) and isinstance(found, dict | None):
        found = found or {}
        keys = {*expected, *found}
        return [
            problem
            for key in keys
            for problem in (
                matches(expected[key], found.get(key), f"{path}/{key}")
                if key in expected
                else [f"{path}/{key}: found {found[key]!r}, expected nothing"]
            )
        ]
    if isinstance(expected, list) and isinstance(found, list) and len(expected) == len(found):
        return [
            problem
            for i, pair in enumerate(zip(expected, found, strict=True))
            for problem in matches(*pair, f"{path}/{i}")
        ]
    return [] if expected == found else [f"{path}: expected {expected!r}, found {found!r}"]


def _keys(path: str) -> list[tuple[int, int, str]]:
    return [(1, int(key), "") if key.isdigit() else (0, 0, key) for key in path.split("/")[1:]]


def _walk(tree: Any, loss: Loss) -> tuple[Any, Any] | None:
    keys = [int(key) if key.isdigit() else key for key in loss.path.split("/")[1:]]
    for key in keys[:-1]:
        if tree is ANY:
            return None
        try:
            tree = tree[key]
        except KeyError:
            # A field at its default is not written.
            tree = tree.setdefault(key, {})
    return (tree, keys[-1]) if tree is not ANY else None


def _replace(tree: Any, loss: Loss) -> None:
    found = _walk(tree, loss)
    if found is not None:
        found[0][found[1]] = ANY


def _delete(tree: Any, loss: Loss) -> None:
    found = _walk(tree, loss)
    if found is not None:
        holder, key = found
        assert isinstance(holder, list) or key in holder, f"a loss points at nothing: {loss}"
        del holder[key]


def _empty(value: Any) -> bool:
    return value is None or value is False or value in ("", [], {})


def _number(messages: Any, ids: dict[str, str]) -> None:
    for message in messages:
        for block in message["blocks"]:
            if block["type"] == "tool_call":
                ids.setdefault(block["id"], f"c{len(ids)}")


def _clean(value: Any, ids: dict[str, str]) -> Any:
    if isinstance(value, list):
        return [_clean(each, ids) for each in value]
    if not isinstance(value, dict):
        return value
    kind = value.get("type")
    if kind == "tool_call":
        value = {key: each for key, each in value.items() if key not in ("provider_id", "label")}
        value["id"] = ids[value["id"]]
        if value.get("arguments") is not None:
            value.pop("raw", None)
        if value.get("parse_error"):
            value["parse_error"] = True
    elif kind == "tool_result":
        value = {key: each for key, each in value.items() if key not in ("code", "label")}
        value["call_id"] = ids.get(value["call_id"], value["call_id"])
    if "ext" in value:
        ext = {
            wire: {k: v for k, v in held.items() if not k.startswith("$") and not _empty(v)}
            for wire, held in value["ext"].items()
        }
        ext = {wire: held for wire, held in ext.items() if held}
        value = {key: each for key, each in value.items() if key != "ext"} | ({"ext": ext} if ext else {})
    out = {}
    for key, each in value.items():
        # What a tool or a model said is nobody's to clean.
        out[key] = each if key in ("arguments", "parameters", "schema", "data", "ext", "format") else _clean(each, ids)
    return {
        key: each
        for key, each in out.items()
        if (each not in ([], {}) or key in ("arguments", "messages", "blocks")) and _DEFAULTS.get(key) != each
    }
