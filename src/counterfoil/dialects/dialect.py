"""A dialect at work: all tools of a request lowered, within its limits."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from typing import Any

import msgspec

from counterfoil.dialects.index import Index, Schema, is_array, is_object
from counterfoil.dialects.limits import Counts, count, over
from counterfoil.dialects.lowering import Lowering
from counterfoil.dialects.merge import constraints, remarks
from counterfoil.dialects.node import Emission, Node, Step
from counterfoil.dialects.plan import WRAPPER, Plan
from counterfoil.dialects.rules import Rules
from counterfoil.dialects.shapes import tangled
from counterfoil.types.error import CatalogueError
from counterfoil.types.loss import Loss
from counterfoil.types.request import ToolSpec

ROUNDS = 12
"""How often a schema is walked again, because a union had to become text: once per level of unions within unions."""

_COMBINED = ("anyOf", "oneOf", "allOf", "not", "enum", "const", "if", "$ref", "$dynamicRef")


class Lowered(msgspec.Struct, frozen=True):
    """Tools as a dialect takes them, how to read their arguments back, and what could not be said."""

    tools: tuple[ToolSpec, ...]
    plans: Mapping[str, Plan]
    """By the tool's name: every function has one, if only an empty one."""
    losses: tuple[Loss, ...] = ()

    def reverse(self, name: str, arguments: dict[str, Any]) -> dict[str, Any]:
        """Reverse the arguments of a call (an unknown tool's stay as they are). Raises `ValueError`: `Plan.reverse`."""
        plan = self.plans.get(name)
        return arguments if plan is None else plan.reverse(arguments)


class Dialect:
    """One provider's schema dialect."""

    def __init__(self, rules: Rules) -> None:
        self.rules = rules
        self.name = rules.name

    def lower(self, tools: Sequence[ToolSpec], *, strict: Collection[str] | None = None) -> Lowered:
        """Say tools as the dialect takes them.

        `strict`: the only tools that may be strict (`()`: none, for a retry after a provider found a grammar too
        large; `None`: all that do not say `strict=False` themselves). Tools beyond a limit are left out of strict mode,
        in their order, and a loss says so. Raises `CatalogueError`, naming the tool, for a schema that refers out of
        itself or never ends.
        """
        names = {tool.name for tool in tools if tool.strict is not False} if strict is None else set(strict)
        drafts = [self._draft(i, tool, tool.name in names or not self.rules.strict) for i, tool in enumerate(tools)]
        if self.rules.strict:
            self._choose([draft for draft in drafts if draft.tool.kind == "function"])
        losses = tuple(loss for draft in drafts for loss in draft.losses)
        plans = {draft.tool.name: draft.plan for draft in drafts if draft.tool.kind == "function"}
        return Lowered(tuple(draft.tool for draft in drafts), plans, losses)

    def _draft(self, i: int, tool: ToolSpec, asked: bool) -> _Draft:
        if tool.kind != "function":
            return _Draft(i, tool)
        try:
            if not asked:
                Index(tool.parameters)
                return _Draft(i, tool)
            schema, steps, losses = lower_schema(self.rules, tool.parameters)
        except CatalogueError as error:
            raise CatalogueError(f"tool {tool.name!r}: {error}") from error
        except (AttributeError, KeyError, TypeError, ValueError) as error:
            raise CatalogueError(f"tool {tool.name!r}: its parameters are not a JSON Schema: {error}") from error
        return _Draft(i, tool, schema, tuple(steps), losses)

    def _choose(self, drafts: list[_Draft]) -> None:
        used = Counts()
        for draft in drafts:
            if not draft.lowered:
                draft.relax("it was not asked for")
                continue
            counts = count(draft.tool.parameters)
            excess = over(self.rules.limits, counts, used)
            if excess is None:
                used = used + counts
                draft.settle()
            else:
                draft.relax(excess)
        if self.rules.whole_request and any(draft.tool.strict is False for draft in drafts):
            for draft in drafts:
                if draft.tool.strict:
                    draft.relax("another tool of the request cannot be strict, and it is one switch for all")


class _Draft:
    """A tool on its way: lowered first, and put back when it does not fit."""

    def __init__(
        self,
        i: int,
        tool: ToolSpec,
        schema: Schema | None = None,
        steps: tuple[Step, ...] = (),
        losses: tuple[Loss, ...] = (),
    ) -> None:
        self.at = f"/tools/{i}"
        self.original = tool
        self.tool = tool
        self.plan = Plan(tool.name)
        self.losses: tuple[Loss, ...] = ()
        self.lowered = schema is not None
        if schema is not None:
            self.tool = msgspec.structs.replace(tool, parameters=schema)
            self.plan = Plan(tool.name, schema if steps else {}, steps)
            self.losses = tuple(Loss(f"{self.at}/parameters{each.path}", each.what, each.carried) for each in losses)

    def settle(self) -> None:
        self.tool = msgspec.structs.replace(self.tool, strict=True)

    def relax(self, why: str) -> None:
        """Leave the tool out of strict mode: its own schema, under an object where it is none."""
        schema = self.original.parameters or {"type": "object", "properties": {}}
        plain = schema.get("type", "object") == "object" and not any(key in schema for key in _COMBINED)
        if plain:
            schema = {"type": "object", **schema}
            self.plan = Plan(self.original.name)
        else:
            schema = {"type": "object", "properties": {WRAPPER: _moved(schema)}, "required": [WRAPPER]}
            self.plan = Plan(self.original.name, schema, (Step("", "unwrap"),))
        self.tool = msgspec.structs.replace(self.original, parameters=schema, strict=False)
        asked = () if self.original.strict is False else (Loss(f"{self.at}/strict", f"strict mode: {why}", "dropped"),)
        self.losses = asked


def _moved(schema: Any) -> Any:
    """A document one level down: its references follow it."""
    if is_array(schema):
        return [_moved(each) for each in schema]
    if not is_object(schema):
        return schema
    moved: Schema = {}
    for key, value in schema.items():
        local = key == "$ref" and isinstance(value, str) and (value == "#" or value.startswith("#/"))
        moved[key] = f"#/properties/{WRAPPER}{value[1:]}" if local else _moved(value)
    return moved


def lower_schema(rules: Rules, parameters: Schema) -> tuple[Schema, list[Step], tuple[Loss, ...]]:
    """Lower the parameters of one tool: the schema, the steps back, and the losses with pointers into the original.

    Raises `CatalogueError`.
    """
    original = parameters or {"type": "object", "properties": {}}
    index = Index(original)
    texted: frozenset[int] = frozenset()
    wrapped = False
    for _ in range(ROUNDS):
        walk = Lowering(rules, index, texted, wrapped=wrapped)
        node = walk.lower(original if id(original) in texted else _start(index), root=not wrapped)
        if not wrapped and not _is_object(node):
            wrapped = True
            continue
        walk.finish()
        emission = Emission(_wrap(node, rules) if wrapped else node, walk.definitions)
        steps = [*emission.steps, *([Step("", "unwrap")] if wrapped else [])]
        bad = tangled(emission.schema, frozenset(each.pointer for each in steps))
        if not bad:
            return emission.schema, steps, emission.losses
        texted |= {emission.origins[pointer] for pointer in bad}
    raise CatalogueError("its unions within unions cannot be told apart")


def _start(index: Index) -> Schema:
    """The root, or what a root that is only a reference refers to."""
    schema: Schema = index.root
    seen: set[str] = set()
    while isinstance(ref := schema.get("$ref"), str) and ref not in seen and constraints(schema).keys() == {"$ref"}:
        seen.add(ref)
        target = index.at(index.resolve(ref))
        if isinstance(target, bool):
            break
        schema = {**target, **notes} if (notes := remarks(schema)) else target
    return schema


def _is_object(node: Node) -> bool:
    return node.words.get("type") == "object" and node.encoding is None and "enum" not in node.words


def _wrap(node: Node, rules: Rules) -> Node:
    words: Schema = {"type": "object", "required": [WRAPPER]}
    if rules.closed:
        words["additionalProperties"] = False
    lost = Loss("", "a root that is not a plain object, written as one property", "envelope")
    return Node(words=words, properties={WRAPPER: node}, losses=(lost,))
