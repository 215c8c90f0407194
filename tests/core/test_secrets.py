"""What is marked `Secret` is in the tool's hands and nowhere else: every way by which it could get out is tried."""

from __future__ import annotations

import dataclasses
import logging
from pathlib import Path
from typing import Annotated, Any, TypedDict

import msgspec
import pydantic
import pytest
from core_kit import ADA, person
from hypothesis import given
from hypothesis import strategies as st

from counterfoil import (
    Allowed,
    Always,
    Catalogue,
    CatalogueError,
    Confirmation,
    ConfirmationError,
    Context,
    CounterfoilError,
    Gate,
    Harness,
    Label,
    Limits,
    MemoryJournal,
    Message,
    Opaque,
    Reasoning,
    Reply,
    Run,
    Scripted,
    Secret,
    SqliteJournal,
    Text,
    Tool,
    ToolCall,
    ToolError,
    tool,
)
from counterfoil.models.scripted import Turn
from counterfoil.run.replay import replay
from counterfoil.run.state import State
from counterfoil.run.walk import walk
from counterfoil.tools.secret import Places
from counterfoil.types.entry import Effect
from counterfoil.types.message import Block

pytestmark = pytest.mark.anyio
PASSWORD = 'hunter2-Zebra"quoted\\and-long'
SHORT = PASSWORD.encode()[:13]


@dataclasses.dataclass
class Credentials:
    user: str
    password: Annotated[str, Secret]


class Card(TypedDict):
    number: Annotated[str, Secret]
    owner: str


class Model(pydantic.BaseModel):
    name: str
    key: Annotated[str, Secret]
    pin: pydantic.SecretStr = pydantic.SecretStr("")


class Outer(pydantic.BaseModel):
    inner: list[Model] = []


class World:
    """What the tools were given."""

    def __init__(self) -> None:
        self.given: list[Any] = []

    def tools(self) -> list[Tool]:
        @tool(effect="write", permission="*")
        async def login(
            user: str, password: Annotated[str, msgspec.Meta(min_length=6), Secret], context: Context
        ) -> str:
            """Log in."""
            self.given.append((user, password))
            context.progress(f"logging in with {password}")
            return f"welcome {user}, your password {password} is fine"

        @tool(effect="irreversible", permission="*")
        async def pay(amount: float, card: Card) -> str:
            """Pay."""
            self.given.append((amount, card["number"]))
            return "paid"

        @tool(effect="read", permission="*")
        async def issue() -> Annotated[str, Secret]:
            """Give a token."""
            return f"token-{PASSWORD}"

        @tool(effect="read", permission="*")
        async def use(token: Annotated[str, Secret], note: str = "") -> str:
            """Use a token."""
            self.given.append((token, note))
            return "used"

        @tool(effect="read", permission="*")
        async def mail(body: str) -> str:
            """Send a mail."""
            self.given.append(body)
            return "sent"

        return [login, pay, issue, use, mail]


async def play(
    tmp_path: Path,
    turns: list[Turn],
    world: World,
    *,
    tools: list[Tool] | None = None,
    gate: Gate | None = None,
    **options: Any,
) -> tuple[Run, Scripted, bytes, Harness]:
    """A run with a real file; everything the file held at its end."""
    journal = SqliteJournal(tmp_path / "runs.db")
    model = Scripted(turns)
    harness = Harness(model, Catalogue(tools or world.tools()), gate=gate, journal=journal)
    run = await harness.run("please", person(), **options)
    raw = await everything(journal, run.id)
    return run, model, raw, harness


async def everything(journal: SqliteJournal, run_id: str) -> bytes:
    records = await journal.read(run_id)
    files = [journal.path, Path(f"{journal.path}-wal")]
    return b"".join(each.read_bytes() for each in files if each.exists()) + msgspec.json.encode(records)


def nowhere(*things: object) -> None:
    """The password is in none of these, in no spelling."""
    for each in things:
        text = each if isinstance(each, bytes) else repr(each).encode()
        assert SHORT not in text, text


def call(name: str, /, **arguments: Any) -> ToolCall:
    return ToolCall("c", name, arguments)


# -- the way through


async def test_the_tool_has_it_and_nobody_else(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.DEBUG)
    world, seen = World(), list[Any]()
    run, model, raw, harness = await play(
        tmp_path, [[call("login", user="ada", password=PASSWORD)], "done"], world, watch=seen.append
    )
    assert world.given == [("ada", PASSWORD)]
    nowhere(raw, run.entries, run.messages, run.results, seen, model.requests, caplog.text, harness.secrets)
    (shown,) = [block for message in run.messages for block in message.blocks if isinstance(block, ToolCall)]
    assert shown.arguments is not None
    placeholder = shown.arguments["password"]
    assert placeholder.startswith("[secret ")
    assert run.results["1.1"].text == f"welcome ada, your password {placeholder} is fine"
    assert any(f"logging in with {placeholder}" in repr(event) for event in seen)
    assert State(run.entries).hash == run.state.hash
    records = await harness.journal.read(run.id)
    assert State(record.entry for record in records).hash == run.state.hash
    assert walk(records) == []


async def test_the_schema_says_that_it_is_a_secret() -> None:
    login = World().tools()[0]
    assert login.spec.parameters["properties"]["password"] == {
        "type": "string",
        "minLength": 6,
        "writeOnly": True,
        "format": "password",
    }
    assert Catalogue([login]).secretive
    assert not Catalogue([World().tools()[-1]]).secretive


@pytest.mark.parametrize(
    ("takes", "value"),
    [
        (Credentials, {"user": "ada", "password": PASSWORD}),
        (Card, {"number": PASSWORD, "owner": "ada"}),
        (list[Credentials], [{"user": "ada", "password": PASSWORD}]),
        (dict[str, Card], {"first": {"number": PASSWORD, "owner": "ada"}}),
        (Credentials | None, {"user": "ada", "password": PASSWORD}),
        (Model, {"name": "n", "key": PASSWORD, "pin": PASSWORD}),
        (Outer, {"inner": [{"name": "n", "key": PASSWORD}]}),
        (Annotated[dict[str, str], Secret], {"a": PASSWORD}),
        (Annotated[list[str] | None, Secret], [PASSWORD]),
    ],
    ids=repr,
)
async def test_a_secret_is_found_wherever_a_type_has_it(tmp_path: Path, takes: Any, value: Any) -> None:
    given: list[Any] = []

    def take(it: Any) -> str:
        """Take it."""
        given.append(it)
        return "taken"

    take.__annotations__["it"] = takes
    made = tool(effect="read", permission="*")(take)
    run, model, raw, _ = await play(tmp_path, [[call("take", it=value)], "done"], World(), tools=[made])
    assert run.results["1.1"].text == "taken", run.results
    (got,) = given
    assert PASSWORD in repr(got).encode().decode("unicode_escape") or PASSWORD in str(msgspec.to_builtins(_plain(got)))
    nowhere(raw, run.entries, model.requests)


def _plain(value: Any) -> Any:
    return value.model_dump(mode="json") if isinstance(value, pydantic.BaseModel) else value


@pytest.mark.parametrize("schema", [{"writeOnly": True}, {"type": "string", "format": "password"}], ids=repr)
async def test_a_declaration_marks_it_in_its_schema(tmp_path: Path, schema: dict[str, Any]) -> None:
    given: list[Any] = []
    parameters = {
        "type": "object",
        "properties": {"who": {"type": "string"}, "auth": {"$ref": "#/$defs/auth"}},
        "$defs": {"auth": {"anyOf": [{"type": "null"}, {"type": "object", "properties": {"key": schema}}]}},
    }

    async def take(**arguments: Any) -> str:
        given.append(arguments)
        return "ok"

    made = Tool.from_declaration({"name": "t", "parameters": parameters}, take, effect="read", permission="*")
    run, _, raw, _ = await play(
        tmp_path, [[call("t", who="ada", auth={"key": PASSWORD}), call("t", auth=None)], "done"], World(), tools=[made]
    )
    assert given == [{"who": "ada", "auth": {"key": PASSWORD}}, {"auth": None}]
    nowhere(raw, run.entries)


# -- what the model writes beside it


async def test_copies_beside_the_call_are_replaced_too(tmp_path: Path) -> None:
    world = World()
    escaped = msgspec.json.encode({"password": PASSWORD}).decode()
    blocks = (
        Reasoning(f"I use {PASSWORD}", signature="signed", ext={"w": {"copy": [PASSWORD]}}),
        Text(f"Logging in with {PASSWORD}", ext={"w": {"x": PASSWORD}}),
        Opaque("w", {"arguments": escaped, "again": msgspec.json.encode(escaped).decode()}),
        ToolCall("c", "login", {"user": PASSWORD, "password": PASSWORD}, raw=escaped, ext={"w": {"call": escaped}}),
        ToolCall("d", "mail", {"body": f"it is {PASSWORD}"}, ext={"w": PASSWORD}),
    )
    reply = Reply(Message("assistant", blocks, ext={"w": {"raw": escaped}}), "tool_calls")
    # What its provider adds could have steered the calls beside it; that is not the matter here.
    run, model, raw, _ = await play(tmp_path, [reply, "done"], world, gate=Gate(provenance="off"))
    # The model wrote those itself, so the tools get what it wrote.
    assert world.given == [(PASSWORD, PASSWORD), f"it is {PASSWORD}"]
    nowhere(raw, run.entries, model.requests)
    reasoning = run.messages[1].blocks[0]
    assert isinstance(reasoning, Reasoning)
    assert reasoning.signature is None, "it was signed over other words"


@pytest.mark.parametrize(
    ("asked", "code"),
    [
        (ToolCall("c", "login", raw='{"user": "ada", "password": "hunter2-Zebra'), "not_parsed"),
        (ToolCall("c", "login", raw='{"hunter2-Zebra": 1, "hunter2-Zebra": 2}'), "not_parsed"),
        (ToolCall("c", "login", None, "x hunter2-Zebra", "cannot read hunter2-Zebra"), "not_parsed"),
        (call("log_in", user="ada", password=PASSWORD), "unknown_tool"),
        (ToolCall("c", "log_in", raw='{"password": "hunter2-Zebra'), "unknown_tool"),
        (call("login", user="ada", passwrd=PASSWORD), "bad_arguments"),
        (call("login", user="ada", password=[PASSWORD]), "bad_arguments"),
        (call("login", user="ada", password={"x": PASSWORD, PASSWORD: 1}), "bad_arguments"),
        (call("login", user=7, password=PASSWORD), "bad_arguments"),
        (call("pay", amount=1, card=PASSWORD), "bad_arguments"),
        (call("pay", amount=1, card='{"number": "hunter2-Zebra"}'), "bad_arguments"),
        (call("pay", amount=1, card={"number": 7, "cvv": PASSWORD, "owner": "ada"}), "bad_arguments"),
    ],
    ids=lambda each: str(getattr(each, "name", each)),
)
async def test_what_is_wrong_is_said_without_it(
    tmp_path: Path, caplog: pytest.LogCaptureFixture, asked: ToolCall, code: str
) -> None:
    run, model, raw, _ = await play(tmp_path, [[asked], "done"], World())
    assert run.results["1.1"].code == code
    nowhere(raw, run.entries, model.requests, caplog.text)


async def test_a_refusal_says_what_would_be_right(tmp_path: Path) -> None:
    asked = [
        call("login", user=7, password="abc"),
        ToolCall("d", "login", raw='{"user": "ada",\n "password": "hunter2-Zebra'),
        call("pay", amount="1", card={"number": 7, "owner": 8}),
    ]
    run, _, _, _ = await play(tmp_path, [asked, "done"], World())
    first, second, third = (result.text for result in run.results.values())
    assert "$.user: expected string, found integer 7" in first
    assert "$.password: must have at least 6 characters (what it is, is not shown)" in first
    assert "abc" not in first
    assert "line 2, column 14" in second
    assert "$.card.number: expected string (what it is, is not shown)" in third
    assert "$.card.owner: expected string, found integer 8" in third


async def test_types_that_refuse_a_value_do_not_quote_it(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    class Strict(pydantic.BaseModel):
        key: Annotated[str, Secret]
        day: str = ""

        @pydantic.field_validator("key")
        @classmethod
        def never(cls, value: str) -> str:
            if value.startswith("hunter2"):
                raise ValueError(f"not {value}")
            return value

        @pydantic.field_validator("day")
        @classmethod
        def weekday(cls, value: str) -> str:
            if value == "someday":
                raise ValueError("write Monday")
            return value

    def take(it: Any) -> str:
        """Take it."""
        return "taken"

    take.__annotations__["it"] = Strict
    made = tool(effect="read", permission="*")(take)
    asked = [call("take", it={"key": PASSWORD}), call("take", it={"key": "x", "day": "someday"})]
    run, _, raw, _ = await play(tmp_path, [asked, "done"], World(), tools=[made])
    assert "a secret argument could not be read" in run.results["1.1"].text
    assert "write Monday" in run.results["1.2"].text
    nowhere(raw, run.entries, caplog.text)


async def test_what_a_tool_raises_does_not_tell_it(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.DEBUG)

    @tool(effect="read", permission="*")
    async def taught(key: Annotated[str, Secret]) -> str:
        """Teach."""
        raise ToolError(f"the key {key} is wrong, so is {key!r}")

    @tool(effect="read", permission="*")
    async def broken(key: Annotated[str, Secret]) -> str:
        """Break."""
        try:
            raise KeyError(key)
        except KeyError as error:
            raise RuntimeError(f"cannot use {key}") from error

    turns: list[Turn] = [[call("taught", key=PASSWORD), call("broken", key=PASSWORD)], "done"]
    run, _, raw, _ = await play(tmp_path, turns, World(), tools=[taught, broken])
    assert run.results["1.1"].text.startswith("the key [secret ")
    assert "broken (call 1.2) raised RuntimeError (what it said may hold a secret)" in caplog.text
    assert "test_secrets.py" in caplog.text, "where it was raised is no secret"
    nowhere(raw, run.entries, caplog.text)


async def test_streaming_tells_nothing_of_it(tmp_path: Path) -> None:
    world = World()
    harness = Harness(Scripted([[call("login", user="ada", password=PASSWORD)], "done"]), Catalogue(world.tools()))
    events = [event async for event in harness.stream("please", ADA)]
    assert world.given == [("ada", PASSWORD)]
    nowhere(*[event for event in events if not isinstance(event, Run)], events[-1].entries)  # type: ignore[union-attr]
    assert any("done" in repr(event) for event in events)


# -- people


async def test_a_confirmation_is_bound_to_the_value_and_does_not_show_it(tmp_path: Path) -> None:
    world = World()
    card = {"number": PASSWORD, "owner": "ada"}
    run, _, raw, harness = await play(tmp_path, [[call("pay", amount=1.0, card=card)], "done"], world)
    (found,) = run.confirmations
    nowhere(raw, found)
    shown = found.call.arguments
    assert shown is not None
    other = {"amount": 1.0, "card": {"number": "4111", "owner": "ada"}}
    with pytest.raises(ConfirmationError, match="a secret argument cannot be edited"):
        await harness.answer(found.id, approve=True, by="bob", arguments=other)
    await harness.answer(found.id, approve=True, by="bob", arguments={**shown, "amount": 2.0})
    run = await harness.resume(run.id)
    assert world.given == [(2.0, PASSWORD)], run.results
    nowhere(await everything(harness.journal, run.id), run.entries)  # type: ignore[arg-type]
    different = Scripted([[call("pay", amount=1.0, card={**card, "number": PASSWORD + "!"})]])
    again = await Harness(different, Catalogue(world.tools()), secrets_key=b"k" * 16).run("x", ADA, run_id="r")
    same = await Harness(
        Scripted([[call("pay", amount=1.0, card=card)]]), Catalogue(world.tools()), secrets_key=b"k" * 16
    ).run("x", ADA, run_id="r")
    assert again.confirmations[0].digest != same.confirmations[0].digest


async def test_a_process_without_the_tools_lets_no_secret_in(tmp_path: Path) -> None:
    world = World()
    card = {"number": PASSWORD, "owner": "ada"}
    run, _, _, harness = await play(tmp_path, [[call("pay", amount=1.0, card=card)], "done"], world)
    (found,) = run.confirmations
    shown = found.call.arguments
    assert shown is not None
    desk = Harness(None, Catalogue(), journal=harness.journal)
    for edited in ({**shown, "card": {**shown["card"], "cvv": "123"}}, {**shown, "card": card}, {"amount": 1.0}):
        with pytest.raises(ConfirmationError, match="a secret argument cannot be edited"):
            await desk.answer(found.id, approve=True, by="bob", arguments=edited)
    await desk.answer(found.id, approve=True, by="bob", arguments={**shown, "amount": 3.0})
    await harness.resume(run.id)
    assert world.given == [(3.0, PASSWORD)]


async def test_a_standing_approval_covers_the_same_secret_and_names_none(tmp_path: Path) -> None:
    world, asked = World(), call("pay", amount=1.0, card={"number": PASSWORD, "owner": "ada"})
    other = call("pay", amount=1.0, card={"number": "4111", "owner": "ada"})
    turns: list[Turn] = [[asked], [asked], [other]]
    run, _, _, harness = await play(tmp_path, turns, world, gate=Gate(provenance="off"))
    id = run.confirmations[0].id
    for desk in (harness, Harness(None, Catalogue(), journal=harness.journal)):
        with pytest.raises(ConfirmationError, match="cannot say what a secret argument may be"):
            await desk.answer(id, approve=True, by="bob", always=Always(arguments={"card": {"const": PASSWORD}}))
    await harness.answer(id, approve=True, by="bob", always=Always())
    run = await harness.resume(run.id)
    assert world.given == [(1.0, PASSWORD), (1.0, PASSWORD)], "the second was covered, the third asks"
    assert len(run.confirmations) == 1
    nowhere(await everything(harness.journal, run.id))  # type: ignore[arg-type]


async def test_another_process_teaches_and_never_runs_with_a_placeholder(tmp_path: Path) -> None:
    world = World()
    card = {"number": PASSWORD, "owner": "ada"}
    run, _, _, harness = await play(tmp_path, [[call("pay", amount=1.0, card=card)]], world)
    await harness.answer(run.confirmations[0].id, approve=True, by="bob")
    # The same file, another harness: what a new process is.
    model = Scripted([[call("pay", amount=1.0, card=card)], "done"])
    other = Harness(model, Catalogue(world.tools()), journal=harness.journal)
    run = await other.resume(run.id)
    assert run.results["1.1"].code == "expired"
    assert "lost with the process" in run.results["1.1"].text
    assert "Ask for them again" in run.results["1.1"].text
    assert world.given == []
    await other.answer(run.confirmations[0].id, approve=True, by="bob")
    await other.resume(run.id)
    assert world.given == [(1.0, PASSWORD)]
    assert walk(await harness.journal.read(run.id)) == []


async def test_a_call_that_was_running_is_not_run_again_without_it() -> None:
    class Dies(BaseException):
        pass

    effects: dict[Effect, str] = {"read": "answered", "idempotent": "in_doubt"}
    for effect, outcome in effects.items():

        @tool(effect=effect, permission="*")
        async def work(key: Annotated[str, Secret]) -> str:
            """Work."""
            raise Dies

        journal = MemoryJournal()
        harness = Harness(Scripted([[call("work", key=PASSWORD)]]), Catalogue([work]), journal=journal)
        with pytest.raises(Dies):
            await harness.run("x", ADA, run_id="r")
        run = await Harness(Scripted(["done"]), Catalogue([work]), journal=journal).resume("r")
        assert run.outcome.kind == outcome
        if effect == "read":
            assert "lost with the process" in run.results["1.1"].text
        assert walk(await journal.read("r")) == []


# -- placeholders that the model writes


async def test_a_model_hands_on_what_it_was_never_shown(tmp_path: Path) -> None:
    world = World()

    def then(request: Any) -> Turn:
        (result,) = request.messages[-1].results
        placeholder = result.text
        return [
            call("use", token=placeholder, note="x"),
            call("mail", body=placeholder),
            call("use", token=placeholder),
        ]

    script: list[Any] = [[call("issue")], then, "done"]
    run, model, raw, _ = await play(tmp_path, script, world)
    placeholder = run.results["1.1"].text
    assert placeholder.startswith("[secret ")
    assert (f"token-{PASSWORD}", "x") in world.given
    assert placeholder in world.given, "to a place that takes no secrets it goes as it is"
    nowhere(raw, run.entries, model.requests)


async def test_a_placeholder_of_another_run_or_a_made_up_one_is_nothing(tmp_path: Path) -> None:
    world = World()
    tools = Catalogue(world.tools())
    key = b"0123456789abcdef"
    waits = call("pay", amount=1, card={"number": "4", "owner": "a"})  # so the run goes on holding what it has
    first = Harness(Scripted([[call("issue")], [waits]]), tools, secrets_key=key)
    run = await first.run("x", ADA)
    placeholder = run.results["1.1"].text
    for stolen in (placeholder, "[secret 0123456789abcdef0123]"):
        for who in (ADA, person(requester="eve")):
            first.model = Scripted([[call("use", token=stolen)], "done"])
            other = await first.run("x", who)
            assert other.results["1.1"].code == "expired"
    assert world.given == []


async def test_it_is_let_go_of_when_the_run_is_done() -> None:
    world = World()
    turns: list[Turn] = [[call("issue")], "done"]
    harness = Harness(Scripted(turns), Catalogue(world.tools()))
    run = await harness.run("x", ADA, run_id="r")
    harness.model = Scripted([[call("use", token=run.results["1.1"].text)], "done"])
    run = await harness.run("go on", ADA, run_id="r")
    assert run.results["2.1" if "2.1" in run.results else "3.1"].code == "expired"
    assert world.given == []


# -- results


async def test_marked_fields_of_a_result_are_replaced(tmp_path: Path) -> None:
    class Account(pydantic.BaseModel):
        name: str
        key: Annotated[str, Secret]

    def make(kind: Any, value: Any, name: str) -> Tool:
        async def made() -> Any:
            """Make it."""
            return value

        made.__annotations__["return"] = kind
        made.__name__ = name
        return tool(effect="read", permission="*")(made)

    pair = Credentials("ada", PASSWORD)
    tools = [
        make(Credentials, pair, "one"),
        make(list[Credentials], [pair], "many"),
        make(Account, Account(name="ada", key=PASSWORD), "model"),
        make(Annotated[dict[str, str], Secret], {"a": PASSWORD}, "whole"),
        make(str, f"it is {PASSWORD}", "unmarked"),
    ]
    run, model, raw, _ = await play(tmp_path, [[call(each.name) for each in tools], "done"], World(), tools=tools)
    texts = [result.text for result in run.results.values()]
    assert '"user":"ada","password":"[secret ' in texts[0]
    assert '"name":"ada","key":"[secret ' in texts[2]
    assert texts[3].startswith("[secret ")
    nowhere(raw, run.entries, model.requests)


async def test_a_look_up_tells_no_secret_either(tmp_path: Path) -> None:
    async def found(key: str) -> Any:
        return {"user": "ada", "password": PASSWORD}

    @tool(effect="write", permission="*", lookup=found, limits=Limits(timeout=5))
    async def make() -> Credentials:
        """Make."""
        raise RuntimeError(f"after {PASSWORD}")

    run, model, raw, _ = await play(tmp_path, [[call("make")], "done"], World(), tools=[make])
    assert '"password":"[secret ' in run.results["1.1"].text
    nowhere(raw, run.entries, model.requests)


# -- from outside, from before, again


async def test_a_call_from_outside(tmp_path: Path) -> None:
    world = World()
    journal = SqliteJournal(tmp_path / "runs.db")
    harness = Harness(None, Catalogue(world.tools()), journal=journal)
    login = ToolCall("", "login", {"user": "ada", "password": PASSWORD}, label=Label("user"))
    await harness.call(login, ADA, run_id="a")
    waits = await harness.call(call("pay", amount=1, card={"number": PASSWORD, "owner": "x"}), ADA, run_id="b")
    assert isinstance(waits, Confirmation)
    await harness.answer(waits.id, approve=True, by="bob")
    await harness.resume("b")
    assert world.given == [("ada", PASSWORD), (1.0, PASSWORD)]
    nowhere(waits, await everything(journal, "a"), await everything(journal, "b"))
    await journal.aclose()


async def test_a_history_from_elsewhere(tmp_path: Path) -> None:
    history = [Message("assistant", (call("login", user="ada", password=PASSWORD), Text(f"used {PASSWORD}")))]
    run, model, raw, _ = await play(tmp_path, ["done"], World(), history=history)
    nowhere(raw, run.entries, model.requests)


async def test_a_check_that_changes_a_secret_does_not_tell_it(tmp_path: Path) -> None:
    world = World()

    def change(attempt: Any) -> Allowed:
        nowhere(attempt.arguments)
        attempt.arguments = {**attempt.arguments, "password": PASSWORD + "!"}
        attempt.notes.append("changed")
        return Allowed()

    journal = SqliteJournal(tmp_path / "runs.db")
    model = Scripted([[call("login", user="ada", password=PASSWORD)], "done"])
    harness = Harness(model, Catalogue(world.tools()), journal=journal, gate=Gate([change]))
    run = await harness.run("x", ADA)
    assert world.given == [("ada", PASSWORD + "!")]
    nowhere(await everything(journal, run.id), run.entries, model.requests)
    await journal.aclose()


async def test_coercion_reads_what_is_no_secret(tmp_path: Path) -> None:
    given: list[Any] = []

    @tool(effect="read", permission="*", coerce=True)
    async def take(n: int, key: Annotated[str, Secret]) -> str:
        """Take."""
        given.append((n, key))
        return "ok"

    run, _, raw, _ = await play(tmp_path, [[call("take", n="7", key=PASSWORD)], "done"], World(), tools=[take])
    assert given == [(7, PASSWORD)]
    nowhere(raw, run.entries)


async def test_a_replay_needs_no_secret(tmp_path: Path) -> None:
    world = World()
    asked = [
        call("login", user="ada", password=PASSWORD),
        call("login", user="ada", password="abc"),
        call("use", token="[secret 0123456789abcdef0123]"),
        call("issue"),
    ]
    run, _, _, harness = await play(tmp_path, [asked, "done"], world)
    assert [result.code for result in run.results.values()] == [None, "bad_arguments", "expired", None]
    again = await replay(await harness.journal.read(run.id), Catalogue(world.tools()))
    assert again.same, again.differences
    assert len(world.given) == 1


async def test_limits_outputs_and_short_keys_are_refused_when_they_are_made() -> None:
    with pytest.raises(CatalogueError, match="pin is a Secret, and a limit on it"):

        @tool(limits=Limits(clamps={"pin": (0, 10)}))
        async def guess(pin: Annotated[int, Secret]) -> str:
            """Guess."""
            return ""

    with pytest.raises(CatalogueError, match="there can be no Secret in it"):
        await Harness(Scripted([]), Catalogue()).run("x", ADA, output=Credentials)
    with pytest.raises(CounterfoilError, match="16 bytes"):
        Harness(None, Catalogue(), secrets_key=b"short")

    class Odd:
        key: Annotated[str, Secret]

    def odd() -> Any:
        """Odd."""

    odd.__annotations__["return"] = Odd
    with pytest.raises(CatalogueError, match="no JSON form"):
        tool(odd)


async def test_equal_secrets_of_two_people_look_different() -> None:
    world, key = World(), b"0123456789abcdef"
    shown: list[Any] = []
    for who in ("ada", "eve"):
        for _ in range(2):
            model = Scripted([[call("use", token=PASSWORD)], "done"])
            run = await Harness(model, Catalogue(world.tools()), secrets_key=key).run("x", person(requester=who))
            shown.append(run.messages[1].calls[0].arguments)
    assert shown[0] == shown[1]
    assert shown[2] == shown[3]
    assert shown[0] != shown[2]


# -- the law

leaves = st.text(min_size=8, max_size=20).map(lambda text: f"§{text}§")
"""Long enough, and like nothing that is there anyhow."""


@st.composite
def hidden(draw: st.DrawFn) -> tuple[dict[str, Any], dict[str, Any], list[str]]:
    """A schema, a value that fits it, and the secrets in that value."""
    secrets: list[str] = []

    def build(depth: int) -> tuple[dict[str, Any], Any]:
        kind = draw(
            st.sampled_from(["secret", "plain", "object", "array", "choice", "map"] if depth else ["secret", "plain"])
        )
        match kind:
            case "secret":
                value = draw(leaves.filter(lambda text: not any(half for half in text if "\ud800" <= half <= "\udfff")))
                secrets.append(value)
                return {"type": "string", "writeOnly": True}, draw(st.sampled_from([value, {"x": value}, [value]]))
            case "plain":
                return {"type": "string"}, draw(st.sampled_from(["plain", "", "x" * 30]))
            case "object":
                parts = {name: build(depth - 1) for name in draw(st.sets(st.sampled_from("abc"), min_size=1))}
                schema = {"type": "object", "properties": {name: part[0] for name, part in parts.items()}}
                return schema, {name: part[1] for name, part in parts.items()}
            case "array":
                schema, value = build(depth - 1)
                return {"type": "array", "items": schema}, [value]
            case "map":
                schema, value = build(depth - 1)
                return {"type": "object", "additionalProperties": schema}, {"key": value}
            case _:
                schema, value = build(depth - 1)
                return {draw(st.sampled_from(["anyOf", "oneOf", "allOf"])): [schema]}, value

    schema, value = build(draw(st.integers(0, 4)))
    return {"type": "object", "properties": {"it": schema}}, {"it": value}, secrets


def strings(value: Any) -> list[str]:
    if isinstance(value, dict):
        return [*value, *[text for each in value.values() for text in strings(each)]]
    if isinstance(value, list):
        return [text for each in value for text in strings(each)]
    return [value] if isinstance(value, str) else []


@given(hidden(), st.booleans())
async def test_law_a_secret_in_arguments_is_in_no_entry(
    made: tuple[dict[str, Any], dict[str, Any], list[str]], in_prose: bool
) -> None:
    schema, arguments, secrets = made
    given_to: list[Any] = []

    async def take(**given: Any) -> str:
        given_to.append(given)
        return f"got {given}" + "".join(secrets)

    taker = Tool.from_declaration({"name": "take", "parameters": schema}, take, effect="read", permission="*")
    journal = MemoryJournal()
    blocks: list[Block] = [Text("".join(secrets) if in_prose else "well"), ToolCall("c", "take", arguments)]
    await Harness(Scripted([blocks, "done"]), Catalogue([taker]), journal=journal).run("x", ADA, run_id="r")
    written = strings(msgspec.json.decode(msgspec.json.encode([record.entry for record in await journal.read("r")])))
    for secret in secrets:
        assert not any(secret in text for text in written)
    for given_arguments in given_to:
        assert given_arguments == arguments, "what it got is what was written"


@given(hidden())
async def test_law_what_is_replaced_comes_back(made: tuple[dict[str, Any], dict[str, Any], list[str]]) -> None:
    schema, arguments, secrets = made
    places = Places(schema)
    kept: dict[str, Any] = {}

    def put(value: Any) -> str:
        kept[f"<{len(kept)}>"] = value
        return f"<{len(kept) - 1}>"

    shown = places.replace(arguments, put)
    assert places.replace(shown, lambda value: kept[value]) == arguments
    assert not any(secret in text for secret in secrets for text in strings(shown))
    assert len(places.found(arguments)) == len(kept)
