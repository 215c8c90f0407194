"""Catalogues to constrain by: public JSON Schemas that packages bring, and schemas from a seed.

* `suite`: the JSON-Schema-Test-Suite (draft 2020-12), as the sdist of `jsonschema` holds it: each schema that something
  satisfies is a tool whose arguments, or whose only argument, it describes. Fetched with pip, read, not run.
* `aws`: operations of Amazon's services, as `botocore` describes them, written as JSON Schema.
* `seeded`: schemas made by a generator of our own, of every keyword that a tool's author might use.
"""

from __future__ import annotations

import gzip
import io
import itertools
import random
import subprocess
import sys
import tarfile
import tempfile
from collections.abc import Iterator
from importlib import resources
from pathlib import Path
from typing import Any

import msgspec

from counterfoil.tools.arguments import compile_schema
from counterfoil.types.error import CatalogueError
from counterfoil.types.json import is_object
from counterfoil.types.request import ToolSpec

SDIST = "jsonschema==4.26.0"
_SERVICES = (
    "s3",
    "ec2",
    "sqs",
    "sns",
    "lambda",
    "dynamodb",
    "iam",
    "ecs",
    "logs",
    "events",
    "kms",
    "ses",
    "rds",
    "ssm",
)
_LONGEST = 450
"""Characters of one tool's schema: what is longer is another question, that of the context."""


class Catalogue(msgspec.Struct, frozen=True):
    """Some tools, under a name that is the same every time."""

    name: str
    source: str
    tools: tuple[ToolSpec, ...]


def catalogues(folder: Path, count: int) -> list[Catalogue]:
    """So many catalogues, in an order in which the beginning is as varied as the whole."""
    sources = [
        _catalogues("suite", list(_suite(folder)), count),
        _catalogues("aws", list(_aws()), count),
        _catalogues("seeded", [_seeded(seed) for seed in range(2 * count)], count),
    ]
    mixed = [each for row in itertools.zip_longest(*sources) for each in row if each is not None]
    return mixed[:count]


def _catalogues(source: str, tools: list[ToolSpec], count: int) -> list[Catalogue]:
    rng = random.Random(source)  # noqa: S311 - a seed, not a secret
    rng.shuffle(tools)
    found: list[Catalogue] = []
    left = iter(tools)
    while len(found) < count and (some := tuple(itertools.islice(left, 1 + len(found) % 3))):
        found.append(Catalogue(f"{source}-{len(found):03}", source, _apart(some)))
    return found


def _apart(tools: tuple[ToolSpec, ...]) -> tuple[ToolSpec, ...]:
    named: dict[str, ToolSpec] = {}
    for tool in tools:
        name = tool.name if tool.name not in named else f"{tool.name}_{len(named)}"
        named[name] = msgspec.structs.replace(tool, name=name)
    return tuple(named.values())


def _suite(folder: Path) -> Iterator[ToolSpec]:
    for file, cases in _cases(folder):
        for number, case in enumerate(cases):
            schema = case["schema"]
            if is_object(schema):
                schema = {key: held for key, held in schema.items() if key != "$schema"}
            valid = [each["data"] for each in case["tests"] if each["valid"]]
            if not valid or not _usable(schema):
                continue
            defs = {"$defs": schema.pop("$defs")} if is_object(schema) and "$defs" in schema else {}
            name = f"{file.replace('-', '_')}_{number}"
            if is_object(schema) and any(is_object(each) for each in valid):
                whole = {"type": "object", **schema, **defs}
            else:
                whole = {"type": "object", "properties": {"value": schema}, "required": ["value"], **defs}
            if _compiles(whole):
                yield ToolSpec(name, case["description"][:80], whole)


def _usable(schema: Any) -> bool:
    # Other documents, and references by a name of their own, are for a registry of schemas; tools have none.
    # The gate would not take what does not compile: references to places that the wrapping moved.
    text = msgspec.json.encode(schema).decode()
    foreign = ("$id", "$anchor", "$dynamicRef", "$recursiveRef", "http://", "https://", "$vocabulary", '"$ref":"#"')
    return len(text) <= _LONGEST and not any(each in text for each in foreign)


def _cases(folder: Path) -> Iterator[tuple[str, list[Any]]]:
    folder.mkdir(parents=True, exist_ok=True)
    kept = folder / f"{SDIST}.json.gz"
    if not kept.is_file():
        found: dict[str, Any] = {}
        with tempfile.TemporaryDirectory() as scratch:
            pip = [
                sys.executable,
                "-m",
                "pip",
                "download",
                "--quiet",
                "--no-deps",
                "--no-binary",
                ":all:",
                "-d",
                scratch,
            ]
            subprocess.run([*pip, SDIST], check=True)  # noqa: S603 - pip, of this environment, with a pinned name
            (archive,) = Path(scratch).glob("*.tar.gz")
            with tarfile.open(archive) as files:
                for member in files:
                    path = Path(member.name)
                    if path.parts[-3:-1] == ("tests", "draft2020-12") and path.suffix == ".json":
                        reading = files.extractfile(member) or io.BytesIO(b"[]")
                        found[path.stem] = msgspec.json.decode(reading.read())
        kept.write_bytes(gzip.compress(msgspec.json.encode(found)))
    yield from sorted(msgspec.json.decode(gzip.decompress(kept.read_bytes())).items())


def _aws() -> Iterator[ToolSpec]:
    for service in _SERVICES:
        versions = resources.files("botocore") / "data" / service
        newest = max(versions.iterdir(), key=lambda each: each.name)
        file = newest / "service-2.json.gz"
        model = msgspec.json.decode(gzip.decompress(file.read_bytes()))
        for name, operation in sorted(model["operations"].items()):
            shape = operation.get("input", {}).get("shape")
            schema = _shape(model["shapes"], shape, ()) if shape else {"type": "object", "properties": {}}
            if schema is not None and len(msgspec.json.encode(schema)) <= _LONGEST:
                yield ToolSpec(name, f"{service}: {name}", schema)


def _shape(shapes: dict[str, Any], name: str, within: tuple[str, ...]) -> dict[str, Any] | None:
    shape = shapes[name]
    if name in within or len(within) > 6:
        return None
    inner = (*within, name)
    match shape["type"]:
        case "structure":
            held = {each: _shape(shapes, member["shape"], inner) for each, member in shape["members"].items()}
            if any(each is None for each in held.values()):
                return None
            return {"type": "object", "properties": held, "required": shape.get("required", [])}
        case "list":
            items = _shape(shapes, shape["member"]["shape"], inner)
            return None if items is None else {"type": "array", "items": items, **_sizes(shape, "Items")}
        case "map":
            value = _shape(shapes, shape["value"]["shape"], inner)
            return None if value is None else {"type": "object", "additionalProperties": value}
        case "string" if "enum" in shape:
            return {"type": "string", "enum": shape["enum"]}
        case "string":
            pattern = (
                {"pattern": shape["pattern"]} if "pattern" in shape and _compiles({"pattern": shape["pattern"]}) else {}
            )
            return {"type": "string", **_sizes(shape, "Length"), **pattern}
        case "integer" | "long":
            return {
                "type": "integer",
                **{k: v for k, v in (("minimum", shape.get("min")), ("maximum", shape.get("max"))) if v is not None},
            }
        case "double" | "float":
            return {"type": "number"}
        case "boolean":
            return {"type": "boolean"}
        case _:
            return {"type": "string"}


def _sizes(shape: dict[str, Any], what: str) -> dict[str, Any]:
    return {f"{key}{what}": shape[key] for key in ("min", "max") if key in shape}


def _compiles(schema: dict[str, Any]) -> bool:
    try:
        compile_schema(schema, "a schema")
    except CatalogueError:
        return False
    return True


_WORDS = ["city", "order", "sku", "amount", "note", "label", "reason", "colour", "start", "end"]
_WORDS += ["person", "team", "page", "limit", "mode", "kind", "ticket", "room"]


def _seeded(seed: int) -> ToolSpec:
    """One tool, from a seed."""
    rng = random.Random(f"tool {seed}")  # noqa: S311 - a seed, not a secret
    made = _Maker(rng)
    schema = made.object(2)
    if made.defs:
        schema["$defs"] = made.defs
    return ToolSpec(f"{rng.choice(('find', 'set', 'send', 'list'))}_{rng.choice(_WORDS)}", f"tool {seed}", schema)


class _Maker:
    def __init__(self, rng: random.Random) -> None:
        self.rng = rng
        self.defs: dict[str, Any] = {}

    def object(self, depth: int) -> dict[str, Any]:
        names = self.rng.sample(_WORDS, self.rng.randint(1, 4))
        needed = [each for each in names if self.rng.random() < 0.6]
        schema: dict[str, Any] = {
            "type": "object",
            "properties": {each: self.value(depth) for each in names},
            "required": needed,
        }
        if self.rng.random() < 0.4:
            schema["additionalProperties"] = self.rng.choice([False, False, True])
        return schema

    def value(self, depth: int) -> Any:
        kinds = ["string", "string", "integer", "number", "boolean", "enum", "const", "pattern", "format", "nullable"]
        kinds += ["array", "tuple", "object", "map", "any of", "all of", "one of", "ref", "anything"] if depth else []
        kind = self.rng.choice(kinds)
        low = self.rng.randint(-20, 50)
        match kind:
            case "string":
                return {"type": "string", **self.rng.choice([{}, {"minLength": 1, "maxLength": 12}, {"maxLength": 40}])}
            case "integer":
                return {
                    "type": "integer",
                    **self.rng.choice(
                        [
                            {},
                            {"minimum": low, "maximum": low + 90},
                            {"minimum": 0},
                            {"multipleOf": 5, "exclusiveMinimum": 0, "maximum": 500},
                        ]
                    ),
                }
            case "number":
                return {"type": "number", **self.rng.choice([{}, {"minimum": 0, "exclusiveMaximum": 1}])}
            case "boolean":
                return {"type": "boolean"}
            case "enum":
                return {
                    "enum": self.rng.choice(
                        [["red", "green", "blue"], [1, 2, 3], ["a", None, 4], ["north east", 'x"y']]
                    )
                }
            case "const":
                return {"const": self.rng.choice(["fixed", 7, True, {"a": [1, 2]}])}
            case "pattern":
                return {
                    "type": "string",
                    "pattern": self.rng.choice(["^ORD-[0-9]{4}$", "^[a-z]+@[a-z]+$", "x", "^(yes|no)$"]),
                }
            case "format":
                return {
                    "type": "string",
                    "format": self.rng.choice(["date", "date-time", "uuid", "email", "ipv4", "time"]),
                }
            case "nullable":
                return {"type": [self.rng.choice(["string", "integer"]), "null"]}
            case "array":
                return {
                    "type": "array",
                    "items": self.value(depth - 1),
                    **self.rng.choice([{}, {"minItems": 1, "maxItems": 3}]),
                }
            case "tuple":
                both = [self.value(depth - 1), self.value(depth - 1)]
                return {"type": "array", "prefixItems": both, "items": False, "minItems": 2}
            case "object":
                return self.object(depth - 1)
            case "map":
                return {"type": "object", "additionalProperties": self.value(depth - 1)}
            case "any of":
                return {"anyOf": [self.value(depth - 1), self.value(depth - 1)]}
            case "one of":
                return {"oneOf": [{"type": "string", "maxLength": 9}, self.object(depth - 1), {"type": "boolean"}]}
            case "all of":
                return {"allOf": [{"type": "object", "properties": {"a": {"type": "string"}}}, {"required": ["a"]}]}
            case "ref":
                self.defs.setdefault(
                    "node",
                    {
                        "type": "object",
                        "properties": {"name": {"type": "string"}, "next": {"$ref": "#/$defs/node"}},
                        "required": ["name"],
                    },
                )
                return {"$ref": "#/$defs/node"}
            case _:
                return {}
