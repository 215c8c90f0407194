"""A key is used, and is seen nowhere: not in a repr, a log, a journal, an error, or the locals of its traceback."""

from __future__ import annotations

import logging
import traceback
from typing import Any

import msgspec
import pytest
from http_kit import ADA, CALLS, Desk, FakeClock, model_at, talk
from provider_kit import WIRES, Asked, Out, Provider, fail, raw, say, sse

from counterfoil import Harness, ModelError, Request, SqliteJournal
from counterfoil.models.hosts import HOSTS
from counterfoil.models.http import HttpModel
from counterfoil.models.keys import Keys
from counterfoil.models.registry import model as model_of
from counterfoil.types.message import user

pytestmark = pytest.mark.anyio

SECRET = "zq7Jx0-not-of-any-known-shape-4f"
"""A key that no pattern recognises: it is hidden because it is the key."""
ASK = Request((user("please"),))


def _seen(error: BaseException) -> str:
    """All that anybody might print of an error, the local variables of every frame among it."""
    assert error.__traceback__ is not None
    ours = error.__traceback__.tb_next  # without the test itself, which knows the key
    told = traceback.TracebackException(type(error), error, ours, capture_locals=True)
    return "".join(told.format(chain=True)) + repr(error) + str(error.__context__) + str(error.__cause__)


@pytest.mark.parametrize("wire", WIRES)
async def test_no_key_is_seen(
    wire: str, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture, tmp_path: Any
) -> None:
    caplog.set_level(1)
    logging.getLogger("httpcore2").setLevel(1)
    echo = {"error": {"message": f"Incorrect API key provided: {SECRET}. Bearer {SECRET}", "code": SECRET}}
    odd = raw(sse(f"{SECRET}", "[DONE]"))

    def quoting(asked: Asked, out: Out) -> None:
        out.whole(f"<p>{asked.headers}</p>".encode(), 401, "text/html")

    turns = [fail(429), say(CALLS), say("done"), *[fail(401, echo), quoting, odd], *[fail(401, echo)] * 3]
    with Provider(wire, turns) as provider:
        monkeypatch.setenv(provider.host.key_variables[0], SECRET)
        journal = SqliteJournal(tmp_path / "runs.db")
        async with model_at(provider, key=None) as model:
            harness = Harness(model, Desk().catalogue, journal=journal)
            runs = [await talk(harness, stream=number % 2 == 1) for number in range(4)]
            errors: list[str] = []
            for _ in range(3):
                with pytest.raises(ModelError) as caught:
                    await model.reply(ASK)
                errors.append(_seen(caught.value))
            shown = repr(model) + repr(vars(model)) + repr(vars(model)["_keys"])
        await journal.aclose()
    used = provider.asked[0].headers[provider.host.header]
    assert SECRET in used, "the key was sent"
    written = b"".join([each.read_bytes() for each in tmp_path.rglob("*") if each.is_file()])
    assert SECRET.encode() not in written
    assert [run.outcome.kind for run in runs[:2]] == ["answered", "failed"]
    for run in runs:
        assert SECRET not in msgspec.json.encode(list(run.entries)).decode()
        assert SECRET not in repr(run)
    for text in (*errors, shown, caplog.text):
        assert SECRET not in text
    assert "(hidden)" in runs[1].outcome.detail
    # Nor in what a log handler could make of a record.
    assert not [record for record in caplog.records if SECRET in repr(record.__dict__)]


@pytest.mark.parametrize("host", [name for name, host in HOSTS.items() if host.key_needed])
async def test_a_missing_key_names_its_variable(host: str, monkeypatch: pytest.MonkeyPatch) -> None:
    for variable in (*HOSTS[host].key_variables, *HOSTS[host].base_variables):
        monkeypatch.delenv(variable, raising=False)
    async with HttpModel(host, "m", base="https://127.0.0.1:9/v1") as model:
        with pytest.raises(ModelError, match=HOSTS[host].key_variables[0]):
            await model.reply(ASK)


async def test_the_key_is_looked_up_when_it_is_used(monkeypatch: pytest.MonkeyPatch) -> None:
    with Provider("anthropic", [say("one"), say("two")]) as provider:
        monkeypatch.setenv("ANTHROPIC_API_KEY", "first-key")
        async with model_at(provider, key=None) as model:
            await model.reply(ASK)
            monkeypatch.setenv("ANTHROPIC_API_KEY", " second-key\n")
            await model.reply(ASK)
    assert [asked.headers["x-api-key"] for asked in provider.asked] == ["first-key", "second-key"]


async def test_a_key_may_be_made_at_every_request() -> None:
    keys = iter(["one", "two"])
    with Provider("openai-chat", [say("one"), say("two")]) as provider:
        async with model_at(provider, key=lambda: next(keys)) as model:
            await model.reply(ASK)
            await model.reply(ASK)
    assert [asked.headers["authorization"] for asked in provider.asked] == ["Bearer one", "Bearer two"]


@pytest.mark.parametrize("bad", ["two\nlines", "with space", "schlüssel", "nul\0"])
async def test_a_key_that_no_header_may_hold(bad: str) -> None:
    async with HttpModel("anthropic", "m", base="http://127.0.0.1:9", key=bad) as model:
        with pytest.raises(ModelError) as caught:
            await model.reply(ASK)
    assert bad not in _seen(caught.value)
    assert "copy it again" in str(caught.value)


async def test_a_key_of_the_environment_is_not_sent_in_the_open(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ANTHROPIC_API_KEY", SECRET)
    async with HttpModel("anthropic", "m", base="http://192.0.2.1:9", clock=FakeClock()) as model:
        with pytest.raises(ModelError, match="without encryption"):
            await model.reply(ASK)


async def test_the_environment_gives_no_proxy(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("HTTP_PROXY", "http_proxy", "ALL_PROXY", "HTTPS_PROXY"):
        monkeypatch.setenv(name, "http://192.0.2.1:9")
    with Provider("anthropic", [say("done")]) as provider:
        async with model_at(provider) as model:
            assert (await model.reply(ASK)).message.text == "done"


async def test_a_local_host_needs_no_key(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("COUNTERFOIL_API_KEY", raising=False)
    with Provider("openai-chat", [say("done")]) as provider:
        model: Any = model_of(f"{provider.base}#some/model:7b")
        async with model:
            run = await Harness(model, Desk().catalogue).run("please", ADA)
    assert run.text == "done"
    assert "authorization" not in provider.asked[0].headers
    assert provider.asked[0].body["model"] == "some/model:7b"
    assert model.name == f"{provider.base}#some/model:7b"


def test_what_looks_like_a_key_is_hidden() -> None:
    keys = Keys(None, (), needed=False)
    for text in (
        "Incorrect API key provided: sk-proj-abcdef0123456789.",
        "key sk-pr***********6789 is wrong",
        "AIzaSyA1234567890abcdefghij is no key",
        "sent Authorization: Bearer abc.def.ghi",
        "AKIAIOSFODNN7EXAMPLE",
    ):
        hidden = keys.hide(text)
        assert "(hidden)" in hidden
        assert "6789" not in hidden
    assert (
        keys.hide("model gpt-5-mini-2026 was not found, max_tokens=5")
        == "model gpt-5-mini-2026 was not found, max_tokens=5"
    )
