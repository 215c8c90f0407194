"""Models by name, and hosts as rows of data."""

from __future__ import annotations

from typing import Any

import pytest

from counterfoil import ModelError, dialects, wires
from counterfoil.models.address import base_of, checked, is_secure, url_of
from counterfoil.models.hosts import HOSTS, host
from counterfoil.models.http import HttpModel
from counterfoil.models.registry import model


@pytest.mark.parametrize("name", HOSTS)
def test_a_row_is_whole(name: str) -> None:
    row = HOSTS[name]
    assert row.name == name
    assert row.wire in wires.names()
    assert row.dialect is None or row.dialect in dialects.names()
    assert row.base.startswith(("https://", "http://127.0.0.1", "{}"))
    assert row.path.startswith("/")
    assert row.key_variables
    assert row.header == row.header.lower()


@pytest.mark.parametrize("name", HOSTS)
def test_a_spec_makes_a_model(name: str) -> None:
    made: Any = model(f"{name}:org/some-model:7b")
    assert isinstance(made, HttpModel)
    assert made.name == f"{name}:org/some-model:7b"
    assert made.host is HOSTS[name]
    assert made.model == "org/some-model:7b"


def test_addresses_as_specs() -> None:
    made: Any = model("https://10.0.0.5:8000/v1/#org/name")
    assert made.name == "https://10.0.0.5:8000/v1#org/name"
    assert made.host.wire == "openai-chat"
    made = model("ollama+http://10.0.0.5:11434#qwen3:4b")
    assert made.host is HOSTS["ollama"]
    assert made.name == "ollama+http://10.0.0.5:11434#qwen3:4b"
    assert model(made.name).name == made.name


@pytest.mark.parametrize(
    ("spec", "said"),
    [
        ("antropic:x", "anthropic"),
        ("open-ai:x", "openai"),
        ("llamacpp:x", "llama-cpp"),
        ("lmstudio:x", "lm-studio"),
        ("nonsense", "HOST:NAME"),
        ("anthropic:", "which model"),
        ("anthropic", "which model"),
        ("http://127.0.0.1:8000/v1", "write its name after a #"),
        ("ftp://127.0.0.1#m", "https://"),
        ("http://user:secret@127.0.0.1#m", "no key"),
        ("http://127.0.0.1/v1?key=secret#m", "no query"),
        ("http://127.0.0.1:99999/v1#m", "not a URL"),
        ("olama+http://127.0.0.1#m", "ollama"),
    ],
)
def test_a_spec_that_is_none(spec: str, said: str) -> None:
    with pytest.raises(ModelError, match=said) as caught:
        model(spec)
    assert "secret" not in str(caught.value)


def test_addresses(monkeypatch: pytest.MonkeyPatch) -> None:
    for variable in ("AWS_REGION", "AWS_DEFAULT_REGION", "AZURE_OPENAI_ENDPOINT", "OLLAMA_HOST"):
        monkeypatch.delenv(variable, raising=False)
    bedrock, azure, ollama = host("bedrock"), host("azure"), host("ollama")
    with pytest.raises(ModelError, match="AWS_REGION or AWS_DEFAULT_REGION"):
        base_of(bedrock, None)
    with pytest.raises(ModelError, match="AZURE_OPENAI_ENDPOINT"):
        base_of(azure, None)
    assert base_of(ollama, None) == "http://127.0.0.1:11434"
    monkeypatch.setenv("AWS_DEFAULT_REGION", "eu-central-1")
    monkeypatch.setenv("AZURE_OPENAI_ENDPOINT", "https://mine.openai.azure.com/")
    monkeypatch.setenv("OLLAMA_HOST", "10.0.0.5:11434")
    assert base_of(bedrock, None) == "https://bedrock-runtime.eu-central-1.amazonaws.com"
    assert base_of(azure, None) == "https://mine.openai.azure.com/openai/v1"
    assert base_of(ollama, None) == "http://10.0.0.5:11434"
    monkeypatch.setenv("AWS_REGION", "evil.example/")
    with pytest.raises(ModelError, match="one word"):
        base_of(bedrock, None)


def test_paths() -> None:
    gemini, bedrock = host("gemini"), host("bedrock")
    assert (
        url_of(gemini, "http://h", "gemini-x", stream=True) == "http://h/models/gemini-x:streamGenerateContent?alt=sse"
    )
    name = "arn:aws:bedrock:eu-west-1:1:inference-profile/x"
    assert url_of(bedrock, "http://h", name, stream=False).count("/") == 5
    assert "%3A" in url_of(bedrock, "http://h", name, stream=False)


@pytest.mark.parametrize(
    ("base", "secure"),
    [
        ("https://example.com", True),
        ("http://127.0.0.1:1", True),
        ("http://[::1]:8000/v1", True),
        ("http://localhost", True),
        ("http://192.0.2.1", False),
        ("http://127.0.0.1.example.com", False),
    ],
)
def test_where_nobody_can_read_along(base: str, secure: bool) -> None:
    assert is_secure(checked(base)) is secure
