"""Tools: declarations, limits, results, errors that teach; and catalogues."""

from __future__ import annotations

import functools
from typing import Any

import msgspec
import pydantic
import pytest
from core_kit import ask, only, person, play

from counterfoil import Catalogue, CatalogueError, Context, Limits, Media, Text, Tool, ToolCall, ToolSpec, tool

pytestmark = pytest.mark.anyio

got: list[Any] = []


@pytest.fixture(autouse=True)
def _nothing_got() -> None:
    got.clear()


SCHEMA: dict[str, Any] = {
    "type": "object",
    "properties": {"city": {"type": "string"}, "days": {"type": "integer"}},
    "required": ["city"],
}


@pytest.mark.parametrize("key", ["parameters", "input_schema", "inputSchema"])
async def test_a_tool_from_a_declaration(key: str) -> None:
    def forecast(city: str, days: int = 1) -> str:
        got.append((city, days))
        return "sun"

    made = Tool.from_declaration({"name": "forecast", "description": "Look.", key: SCHEMA}, forecast, effect="read")
    assert made.spec.parameters["additionalProperties"] is False
    run, _ = await play([[ask("forecast", city="Bern"), ask("forecast", "c2", town="Bern")], "ok"], [made])
    assert [result.code for result in run.results.values()] == [None, "bad_arguments"]
    assert got == [("Bern", 1)]


async def test_a_declaration_may_take_the_context() -> None:
    async def forecast(city: str, context: Context) -> str:
        got.append(context.session.requester)
        return "sun"

    spec = ToolSpec("forecast", "Look.", SCHEMA)
    await play([[ask("forecast", city="Bern")], "ok"], [Tool.from_declaration(spec, forecast, effect="read")])
    assert got == ["ada"]


@pytest.mark.parametrize(
    ("declaration", "told"),
    [
        ({}, "needs a name and an object of JSON Schema"),
        ({"name": "f"}, "needs a name and an object of JSON Schema"),
        ({"name": "f", "parameters": []}, "needs a name and an object of JSON Schema"),
        ({"name": "f", "parameters": {"type": "strin"}}, "f: not a usable JSON Schema"),
        ({"name": "f", "parameters": {"properties": {"x": {"$ref": "#/$defs/none"}}}}, "f: not a usable JSON Schema"),
        ({"name": "f", "parameters": {"properties": {"x": {"pattern": "("}}}}, "f: not a usable JSON Schema"),
    ],
)
def test_a_declaration_that_is_none_says_so(declaration: dict[str, Any], told: str) -> None:
    with pytest.raises(CatalogueError, match=told):
        Tool.from_declaration(declaration, lambda: None)


def test_a_tool_is_still_a_function() -> None:
    @tool
    def add(a: int, b: int) -> int:
        """Add."""
        return a + b

    assert add(1, b=2) == 3
    assert repr(add) == "Tool('add', effect='write', permission='add')"


@pytest.mark.parametrize(
    ("options", "told"),
    [
        ({"effect": "delete"}, "effect must be read, idempotent, write or irreversible"),
        ({"effect": "write", "limits": Limits(timeout=None)}, "a tool that writes needs a timeout"),
        ({"effect": "irreversible", "limits": Limits(timeout=None)}, "a tool that writes needs a timeout"),
    ],
)
def test_wrong_options_say_what_to_change(options: dict[str, Any], told: str) -> None:
    with pytest.raises(CatalogueError, match=told):
        tool(name="f", **options)(lambda: None)


class Row(msgspec.Struct):
    id: int
    secret: str


class Currency(msgspec.Struct):
    code: str

    def __post_init__(self) -> None:
        got.append({"EUR": 1}[self.code])


class Model(pydantic.BaseModel):
    id: int


@pytest.mark.parametrize(
    ("value", "returns", "text"),
    [
        ("plain", None, "plain"),
        (None, None, "done"),
        ({"a": 1}, None, '{"a":1}'),
        ([1, 2.5, True], None, "[1,2.5,true]"),
        (Row(1, "x"), None, '{"id":1,"secret":"x"}'),
        (Row(1, "x"), ["id"], '{"id":1}'),
        ([Row(1, "x"), Row(2, "y")], ["id"], '[{"id":1},{"id":2}]'),
        ({"id": 1, "secret": "x"}, ["id", "absent"], '{"id":1}'),
        (Model(id=3), None, '{"id":3}'),
        ([Model(id=3)], ["id"], '[{"id":3}]'),
        (Text("block"), None, "block"),
        ([Text("a"), Media("image/png", b"x"), Text("b")], None, "a\nb"),
        ([], None, "[]"),
        ("", None, ""),
    ],
)
async def test_what_a_tool_returns_as_the_model_reads_it(value: Any, returns: list[str] | None, text: str) -> None:
    @tool(effect="read", returns=returns)
    async def give() -> Any:
        """Give."""
        return value

    run, _ = await play([[ask("give")], "ok"], [give])
    assert (only(run).text, only(run).is_error) == (text, False)


async def test_coercion_only_where_the_tool_allows_it_and_it_is_told() -> None:
    def take(n: int, rows: list[dict[str, int]], on: bool = False) -> str:
        """Take."""
        got.append((n, rows, on))
        return "taken"

    strict, lenient = tool(effect="read", name="strict")(take), tool(effect="read", name="lenient", coerce=True)(take)
    arguments = {"n": "3", "rows": '[{"a": 1}]', "on": "true"}
    calls = [ask("strict", **arguments), ask("lenient", "c2", **arguments)]
    run, _ = await play([calls, "ok"], [strict, lenient])
    refused, taken = run.results.values()
    assert refused.code == "bad_arguments"
    assert got == [(3, [{"a": 1}], True)]
    assert "[note: n was a string and was read as 3]" in taken.text
    assert run.state.calls["1.2"].arguments == {"n": 3, "rows": [{"a": 1}], "on": True}


@pytest.mark.parametrize("text", ["1e400", "NaN", "three", '{"a": 1}', '3, "m": 4', "3} {", ""])
async def test_coercion_is_as_strict_as_reading(text: str) -> None:
    @tool(effect="read", coerce=True)
    def take(n: float) -> str:
        """Take."""
        got.append(n)
        return "taken"

    run, _ = await play([[ask("take", n=text)], "ok"], [take])
    assert (only(run).code, got) == ("bad_arguments", [])


async def test_coercion_of_a_repeated_key_is_refused() -> None:
    @tool(effect="read", coerce=True)
    def take(rows: list[dict[str, int]]) -> str:
        """Take."""
        got.append(rows)
        return "taken"

    run, _ = await play([[ask("take", rows='[{"a": 1, "a": 2}]')], "ok"], [take])
    assert (only(run).code, got) == ("bad_arguments", [])


async def test_secrets_are_masked_in_what_is_told() -> None:
    @tool(effect="read")
    def login(api_key: int, note: int) -> str:
        """Log in."""
        return "in"

    run, _ = await play([[ask("login", api_key="hunter2", note="sk-abcdefghijklmnop123")], "ok"], [login])
    assert "hunter2" not in only(run).text
    assert "abcdefghijklmnop" not in only(run).text
    assert "(hidden)" in only(run).text


async def test_a_type_that_breaks_on_its_arguments_refuses_them() -> None:
    @tool(effect="read")
    def convert(currency: Currency) -> str:
        """Convert."""
        return "converted"

    run, _ = await play([[ask("convert", currency={"code": "XXX"})], "ok"], [convert])
    assert only(run).code == "bad_arguments"


def test_a_partial_and_a_callable_object_can_be_named_or_say_so() -> None:
    def add(a: int, b: int) -> int:
        return a + b

    with pytest.raises(CatalogueError, match="name="):
        tool(functools.partial(add, b=2))
    made = tool(name="add_two", effect="read")(functools.partial(add, b=2))
    assert made.name == "add_two"


def make(name: str, **options: Any) -> Tool:
    return tool(name=name, effect="read", **options)(lambda: name)


def test_a_catalogue_is_ordered_named_and_cut() -> None:
    a, b, c = (make(name, permission=f"p:{name}") for name in "abc")
    catalogue = Catalogue([c, a]) + Catalogue([b])
    assert [each.name for each in catalogue] == ["c", "a", "b"]
    assert len(catalogue) == 3
    assert "a" in catalogue
    assert catalogue["b"] is b
    assert catalogue.get("z") is None
    assert [each.name for each in catalogue.subset(["b", "c"])] == ["b", "c"]
    prefixed = catalogue.prefixed("github")
    assert [each.name for each in prefixed] == ["github_c", "github_a", "github_b"]
    assert [each.permission for each in prefixed] == ["p:c", "p:a", "p:b"]
    assert [spec.name for spec in catalogue.visible_to(person("p:a", "p:b"))] == ["a", "b"]
    with pytest.raises(CatalogueError, match="no tool is named z; the names are c, a, b"):
        catalogue.subset(["z"])


def test_a_catalogue_takes_tools_only() -> None:
    def plain(x: int) -> int:
        return x

    with pytest.raises(CatalogueError, match="'plain' is not a tool: decorate it with @tool"):
        Catalogue([plain])  # type: ignore[list-item]
    with pytest.raises(CatalogueError, match="two tools are named 'a'"):
        Catalogue([make("a"), make("a")])


def test_the_digest_changes_with_what_a_model_may_ask_for() -> None:
    same = [Catalogue([make("a")]).digest, Catalogue([make("a")]).digest]
    others = [
        Catalogue([make("b")]).digest,
        Catalogue([make("a", description="x")]).digest,
        Catalogue([make("a", permission="x")]).digest,
        Catalogue([tool(name="a", effect="write")(lambda: "a")]).digest,
    ]
    assert len({*same, *others}) == 5


async def test_a_custom_call_gives_its_text() -> None:
    @tool(effect="read")
    async def run_code(input: str) -> str:
        """Run."""
        return f"ran {input}"

    run, _ = await play([[ToolCall("c", "run_code", raw="print(1)", kind="custom")], "ok"], [run_code])
    assert only(run).text == "ran print(1)"
