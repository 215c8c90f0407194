"""Schemas that an engine can enforce, bounded so that a small model comes to an end; what became of each keyword."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import msgspec

from counterfoil.text.constrain.merging import implied, united
from counterfoil.text.constrain.report import Feature, How
from counterfoil.types.json import is_array, is_object
from counterfoil.types.request import ToolSpec

Check = Callable[[dict[str, Any]], str | None]
"""Says what is wrong with a schema for an engine; `None` if it is enforced as it stands."""


class Ours(int):
    """A bound that is ours, and not the schema's: it may be left out where it is in the way."""


class Bounds(msgspec.Struct, frozen=True):
    """How much may be written where a schema says nothing: characters, items, members, digits."""

    string: int = 300
    items: int = 8
    keys: int = 8
    digits: int = 15


_NOTES = frozenset(
    {"title", "description", "default", "examples", "example", "deprecated", "readOnly", "writeOnly", "optional"}
    | {"$schema", "$id", "$comment", "$anchor", "contentMediaType", "contentEncoding", "contentSchema"}
    | {"externalDocs", "xml", "discriminator", "nullable"}
)
"""Keywords that hold no value to anything."""
_ENFORCED = frozenset(
    {"type", "enum", "const", "required", "pattern", "format", "multipleOf", "minimum", "maximum", "minItems"}
    | {"maxItems", "minLength", "maxLength", "minProperties", "maxProperties", "exclusiveMinimum", "exclusiveMaximum"}
)
_CHILDREN = frozenset({"items", "additionalProperties"})
_COMBINE = ("anyOf", "oneOf", "allOf")
_DROPS = ("pattern", "format", "minProperties", "maxProperties", "multipleOf", "patternProperties", "enum")
"""Keywords that are given up, in this order, where an engine cannot take a schema."""
_FREE = frozenset({"enum", "const", "$ref"})
_DAYS = "(0[13578]|1[02])-(0[1-9]|[12][0-9]|3[01])|(0[469]|11)-(0[1-9]|[12][0-9]|30)|02-(0[1-9]|1[0-9]|2[0-8])"
_LEAP = "([0-9]{2}(0[48]|[2468][048]|[13579][26])|([02468][048]|[13579][26])00)-02-29"
_DATE = f"([0-9]{{4}}-({_DAYS})|{_LEAP})"
_TIME = r"([01][0-9]|2[0-3]):[0-5][0-9]:[0-5][0-9](\.[0-9]{1,6})?(Z|[+-]([01][0-9]|2[0-3]):[0-5][0-9])"
FORMATS = {
    "date": f"^{_DATE}$",
    "time": f"^({_TIME})$",
    "date-time": f"^({_DATE}T{_TIME})$",
    "email": r"^([A-Za-z0-9_+-]{1,30}(\.[A-Za-z0-9_+-]{1,30})?@[a-z0-9]{1,30}(\.[a-z]{2,12}){1,3})$",
    "uuid": "^([0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12})$",
    "ipv4": r"^((25[0-5]|2[0-4][0-9]|1[0-9][0-9]|[1-9]?[0-9])(\.(25[0-5]|2[0-4][0-9]|1[0-9][0-9]|[1-9]?[0-9])){3})$",
}
"""Patterns for formats, each (nearly) all of what it allows: engines have their own ideas of what an address is."""
ANSWER = "(answer)"
KEYS = "^[A-Za-z0-9_. -]{1,40}$"
"""The names that may be written where a schema takes any."""


def fit(tool: ToolSpec, bounds: Bounds, check: Check | None) -> tuple[dict[str, Any], tuple[Feature, ...]]:
    """Return the schema of a tool's arguments as it can be enforced, and what became of its features."""
    return Fitting(tool.name, tool.parameters, bounds, check).done()


def fit_answer(
    schema: dict[str, Any], bounds: Bounds, check: Check | None
) -> tuple[dict[str, Any], tuple[Feature, ...]]:
    """The same for a structured answer, which need not be an object. In the report it stands where a tool would."""
    return Fitting(ANSWER, schema, bounds, check).done(arguments=False)


class Fitting:
    """The work on one schema. References are moved into `$defs` of the result, so that parts of it can stand alone."""

    def __init__(self, tool: str, schema: dict[str, Any], bounds: Bounds, check: Check | None) -> None:
        self._tool, self._root, self._bounds, self._check = tool, schema, bounds, check
        self._features: dict[tuple[str, str], Feature] = {}
        self._names: dict[str, str] = {}
        self._defs: dict[str, Any] = {}
        self._shared = set(_mixed(schema, False))

    def done(self, *, arguments: bool = True) -> tuple[dict[str, Any], tuple[Feature, ...]]:
        """Do the work."""
        given = {**self._root, "type": "object"} if arguments else self._root
        if arguments and not given.keys() & {
            *_COMBINE,
            "$ref",
            "properties",
            "additionalProperties",
            "patternProperties",
        }:
            given["properties"] = {}
        found = self._fit(given, "", True)
        if self._check is not None and self._wrong(found) is not None:
            for name in list(self._defs):
                self._defs[name] = self._mend(self._defs[name], f"/$defs/{name}")
            found = self._mend(found, "")
            if not is_object(found) or self._wrong(found) is not None:
                self._defs.clear()
                found = self._give_up("", "the schema as a whole", self._map())
        whole = {**found, "$defs": self._defs} if self._defs else found
        return whole, tuple(sorted(self._features.values()))

    def _note(self, path: str, feature: str, how: How, why: str = "") -> None:
        self._features[path, feature] = Feature(self._tool, path or "/", feature, how, why)

    def _fit(self, schema: Any, path: str, close: bool) -> Any:
        if schema is False:
            return False
        if not is_object(schema) or not schema.keys() - _NOTES:
            self._note(path, "any value", "narrowed", "a scalar, or a list or an object of scalars")
            return self._any()
        schema = united(schema, self._follow)
        if (kind := implied(schema)) is not None:
            schema = {"type": kind, **schema}
            self._note(path, "type", "narrowed", f"what is said is about {kind}s")
        combined = any(key in schema for key in (*_COMBINE, "$ref"))
        within = close and not schema.keys() & {"properties", "required", "additionalProperties", "allOf"}
        result: dict[str, Any] = {}
        for key, value in schema.items():
            at = f"{path}/{key}"
            if key in ("$defs", "definitions") or key in _NOTES or key.startswith("x-"):
                continue
            if key in _ENFORCED:
                result[key] = ascii_classes(value) if key == "pattern" else value
                self._note(path, key, "enforced")
            elif key in ("properties", "patternProperties") and is_object(value):
                result[key] = {name: self._fit(each, f"{at}/{_escaped(name)}", True) for name, each in value.items()}
                self._note(path, key, "enforced")
            elif key in (*_COMBINE, "prefixItems") and is_array(value):
                inner = True if key == "prefixItems" else within and key != "allOf"
                result[key] = [self._fit(each, f"{at}/{index}", inner) for index, each in enumerate(value)]
                self._note(path, key, "enforced")
            elif key == "items" and is_array(value):
                self._note(path, key, "approximated", "a list of schemas is called prefixItems")
            elif key in _CHILDREN:
                result[key] = self._fit(value, at, True) if is_object(value) and value else value
                self._note(path, key, "enforced")
            elif key == "$ref" and isinstance(value, str):
                result |= self._reference(value, path)
            else:
                self._note(path, key, "approximated", "no engine enforces it")
        if not result:
            return self._any()
        self._bound(result, path, close and not combined)
        return self._portable(result, path) if self._check is None else result

    def _follow(self, reference: str) -> Any:
        return _resolve(self._root, reference)

    def _reference(self, reference: str, path: str) -> dict[str, Any]:
        if reference not in self._names:
            target = _resolve(self._root, reference)
            if target is None:
                self._note(path, "$ref", "refused", f"{reference} is not in the schema")
                return self._any()
            name = self._names[reference] = f"r{len(self._names)}"
            self._defs[name] = {}
            self._defs[name] = self._fit(target, f"/{reference.lstrip('#/')}", reference not in self._shared)
        self._note(path, "$ref", "enforced")
        return {"$ref": f"#/$defs/{self._names[reference]}"}

    def _bound(self, schema: dict[str, Any], path: str, close: bool) -> None:
        kinds, bounds = schema.get("type"), self._bounds
        types: list[Any] = kinds if is_array(kinds) else [kinds]
        if schema.keys() & _FREE:
            return
        if "string" in types and schema.get("format") in FORMATS and "pattern" not in schema:
            schema["pattern"] = FORMATS[schema.pop("format")]
            self._note(path, "format", "narrowed", "to the usual spellings of it")
        elif "string" in types and "maxLength" not in schema and "format" not in schema and self._fits(schema):
            schema["maxLength"] = Ours(max(bounds.string, _number(schema.get("minLength"))))
            self._note(path, "maxLength", "narrowed", f"at most {schema['maxLength']} characters")
        if "array" in types:
            if "items" not in schema:
                schema["items"] = False if "prefixItems" in schema else self._scalar()
            fixed = len(schema.get("prefixItems", ()))
            if "maxItems" not in schema and schema["items"] is not False:
                schema["maxItems"] = max(bounds.items, fixed, _number(schema.get("minItems")))
                self._note(path, "maxItems", "narrowed", f"at most {schema['maxItems']} items")
        if "integer" in types or "number" in types:
            self._bound_number(schema, path)
        if "object" in types:
            self._bound_object(schema, path, close)

    def _fits(self, schema: dict[str, Any]) -> bool:
        """Whether what a pattern wants may be so short."""
        if "pattern" not in schema:
            return True
        short = {"type": "string", "pattern": schema["pattern"], "maxLength": self._bounds.string}
        return self._check is not None and self._check(short) is None

    def _bound_number(self, schema: dict[str, Any], path: str) -> None:
        most = 10**self._bounds.digits - 1
        if not schema.keys() & {"maximum", "exclusiveMaximum"}:
            schema["maximum"] = max(most, _number(schema.get("minimum", schema.get("exclusiveMinimum"))) + most)
            self._note(path, "maximum", "narrowed", f"at most {self._bounds.digits} digits")
        if not schema.keys() & {"minimum", "exclusiveMinimum"}:
            schema["minimum"] = min(-most, _number(schema.get("maximum", schema.get("exclusiveMaximum"))) - most)
            self._note(path, "minimum", "narrowed", f"at most {self._bounds.digits} digits")

    def _bound_object(self, schema: dict[str, Any], path: str, close: bool) -> None:
        declared: dict[str, Any] = schema.get("properties", {})
        for name in schema.get("required", ()):
            if name not in declared and not schema.get("patternProperties"):
                extra = schema.get("additionalProperties", True)
                schema["properties"] = declared = {**declared, name: extra if is_object(extra) else self._any()}
        extra = schema.get("additionalProperties", True)
        if extra is False:
            return
        if "properties" in schema or schema.get("patternProperties"):
            if close and extra is True:
                schema["additionalProperties"] = False
                self._note(path, "additionalProperties", "narrowed", "only what is declared")
            return
        if close:
            schema |= {**self._map(extra), **{key: schema[key] for key in ("minProperties",) if key in schema}}
            schema["maxProperties"] = max(self._bounds.keys, _number(schema.get("minProperties")))
            self._note(path, "additionalProperties", "narrowed", f"at most {schema['maxProperties']} plain names")

    def _scalar(self) -> dict[str, Any]:
        kinds: list[dict[str, Any]] = [{"type": "string", "maxLength": Ours(self._bounds.string)}]
        number = {"type": "number", "minimum": -(10**self._bounds.digits), "maximum": 10**self._bounds.digits}
        return {"anyOf": [*kinds, number, {"type": "boolean"}, {"type": "null"}]}

    def _map(self, extra: Any = True) -> dict[str, Any]:
        held = self._scalar() if extra is True else extra
        return {
            "type": "object",
            "patternProperties": {KEYS: held},
            "additionalProperties": False,
            "maxProperties": self._bounds.keys,
        }

    def _any(self) -> dict[str, Any]:
        array = {"type": "array", "items": self._scalar(), "maxItems": self._bounds.items}
        return {"anyOf": [*self._scalar()["anyOf"], array, self._map()]}

    def _portable(self, schema: dict[str, Any], path: str) -> dict[str, Any]:
        # Without an engine to ask, what only some can enforce counts as lost.
        if "oneOf" in schema:
            schema["anyOf" if "anyOf" not in schema else "oneOf"] = schema.pop("oneOf")
            self._note(path, "oneOf", "approximated", "taken as anyOf")
        if schema.keys() & {"minProperties"} and set(schema.get("properties", ())) - set(schema.get("required", ())):
            del schema["minProperties"]
            self._note(path, "minProperties", "approximated", "with members that may be left out")
        return schema

    def _wrong(self, schema: Any) -> str | None:
        assert self._check is not None
        if not is_object(schema):
            return None
        return self._check({**schema, "$defs": self._defs} if self._defs else schema)

    def _mend(self, schema: Any, path: str) -> Any:
        """Give up as little as makes a schema one that the engine takes: of its parts first, then of itself."""
        if not is_object(schema) or self._wrong(schema) is None:
            return schema
        mended = dict(schema)
        for key in ("properties", "patternProperties"):
            if key in mended:
                mended[key] = {
                    name: self._mend(each, f"{path}/{key}/{_escaped(name)}") for name, each in mended[key].items()
                }
        for key in (*_COMBINE, "prefixItems"):
            if key in mended:
                mended[key] = [self._mend(each, f"{path}/{key}/{index}") for index, each in enumerate(mended[key])]
        for key in _CHILDREN & mended.keys():
            mended[key] = self._mend(mended[key], f"{path}/{key}")
        if (why := self._wrong(mended)) is None:
            return mended
        for step in self._steps(mended, path):
            mended, feature, how = step
            self._note(path, feature, how, short(why))
            if self._wrong(mended) is None:
                return mended
        return self._give_up(path, short(why), self._any())

    def _steps(self, schema: dict[str, Any], path: str) -> Iterator[tuple[dict[str, Any], str, How]]:
        ours = self._features.get((path, "maxLength"))
        if ours is not None and ours.how == "narrowed":
            loose = {key: value for key, value in schema.items() if key != "maxLength"}
            if self._wrong(loose) is None:
                yield loose, "maxLength", "enforced"
                return
        if "oneOf" in schema and "anyOf" not in schema:
            schema = {("anyOf" if key == "oneOf" else key): value for key, value in schema.items()}
            yield schema, "oneOf", "approximated"
        for key in _DROPS:
            if key in schema:
                schema = {each: value for each, value in schema.items() if each != key}
                yield schema, key, "approximated"

    def _give_up(self, path: str, why: str, instead: dict[str, Any]) -> dict[str, Any]:
        for key in [each for each in self._features if each[0] == path or each[0].startswith(f"{path}/")]:
            del self._features[key]
        self._note(path, "schema", "refused", why)
        return instead


def ascii_classes(pattern: str) -> str:
    """A pattern whose digits and word characters are those of ECMA-262, whatever an engine takes them for."""
    found, within, at = "", False, 0
    while at < len(pattern):
        sign = pattern[at : at + 2] if pattern[at] == "\\" else pattern[at]
        if sign in _CLASSES:
            found += _CLASSES[sign] if within else f"[{_CLASSES[sign]}]"
        else:
            found += sign
            within = sign == "[" or (within and sign != "]")
        at += len(sign)
    return found


_CLASSES = {"\\d": "0-9", "\\w": "A-Za-z0-9_"}


def _mixed(schema: Any, shared: bool) -> Iterator[str]:
    """References to schemas that others stand beside: their objects cannot be closed."""
    if is_array(schema):
        for each in schema:
            yield from _mixed(each, shared)
    elif is_object(schema):
        reference = schema.get("$ref")
        if isinstance(reference, str) and (shared or schema.keys() - {"$ref", *_NOTES}):
            yield reference
        beside = bool(schema.keys() & {"properties", "required", "additionalProperties", "allOf"})
        for key, each in schema.items():
            yield from _mixed(each, (shared or beside) if key in _COMBINE else False)


def _resolve(root: Any, reference: str) -> Any:
    if not reference.startswith("#"):
        return None
    found = root
    for step in reference[1:].split("/")[1:]:
        name = step.replace("~1", "/").replace("~0", "~").replace("%25", "%")
        if is_object(found):
            found = found.get(name)
        elif is_array(found) and name.isdecimal() and int(name) < len(found):
            found = found[int(name)]
        else:
            return None
    return found if is_object(found) or isinstance(found, bool) else None


def _escaped(name: str) -> str:
    return name.replace("~", "~0").replace("/", "~1")


def _number(value: Any) -> int:
    return int(value) if isinstance(value, int | float) and not isinstance(value, bool) else 0


def short(why: str) -> str:
    """The first line of an engine's complaint."""
    line = why.strip().splitlines()[0] if why.strip() else "the engine says no"
    return line.removeprefix("at ").rpartition("JSON schema: ")[2][:160]
