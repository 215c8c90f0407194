"""Who serves models, as rows of data: where, in which wire format, with whose key. A new host is a new row.

Addresses, paths, headers and variables are those of the providers' own clients (openai 3.57, anthropic 2.14,
google-genai 3.6, mistralai 3.7, cohere 7.3, ollama 0.6, botocore 1.44) and documentation, as of November 2026.
"""

from __future__ import annotations

import difflib
from collections.abc import Mapping
from typing import Any, Literal

import msgspec

from counterfoil.types.error import ModelError

Framing = Literal["sse", "ndjson", "eventstream"]
"""How a stream's events stand in the bytes: server-sent events, a JSON value a line, Amazon's binary frames."""


class Host(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """One host. In `path` and `stream_path`, `{model}` stands for the model's name."""

    name: str
    """What a user writes before the colon: `name:model`."""
    title: str
    wire: str
    base: str
    """The address that paths are added to. `{}` is filled from `base_variables`."""
    base_variables: tuple[str, ...] = ()
    """The variables that fill `base`, or replace it if it has no `{}`. The first that is set counts."""
    path: str
    stream_path: str = ""
    """If it differs from `path`."""
    key_variables: tuple[str, ...] = ()
    """The variables that may hold the key. The first that is set counts."""
    key_needed: bool = True
    header: str = "authorization"
    """The header that carries the key; in `authorization` it stands after `Bearer`."""
    signed: bool = False
    """Whether requests are signed (AWS Signature Version 4) where no key is given."""
    headers: Mapping[str, str] = {}
    framing: Framing = "sse"
    dialect: str | None = None
    """The schema dialect of its strict tools."""
    in_address: tuple[str, ...] = ()
    """What the wire writes into the body, but the host wants in the address only."""
    fields: Mapping[str, Any] = {}
    """Body fields and notes of the wire (`$...`) that every request to this host carries."""
    stream_fields: Mapping[str, Any] = {}
    """More of them where a stream is asked for."""
    cost_field: str | None = None
    """The field of its usage in which the host itself says what a reply cost."""
    example: str = "NAME"
    """A model's name, for the documentation."""


_COUNTED: dict[str, Any] = {"stream_options": {"include_usage": True}}
"""Without it these hosts do not say what a streamed reply cost."""
_OLDER: dict[str, Any] = {"$max_tokens": True}
"""They know the ceiling of a reply as `max_tokens` only."""


def _chat(name: str, title: str, base: str, *keys: str, **more: Any) -> Host:
    """A host that speaks OpenAI Chat Completions, each with its own corners."""
    row: dict[str, Any] = {"path": "/chat/completions", "fields": _OLDER, "stream_fields": _COUNTED, **more}
    return Host(name=name, title=title, wire="openai-chat", base=base, key_variables=keys, **row)


_GEMINI = "https://generativelanguage.googleapis.com/v1"
_GEMINI_KEYS = ("GEMINI_API_KEY", "GOOGLE_API_KEY")

_ROWS: tuple[Host, ...] = (
    Host(
        name="anthropic",
        title="Anthropic",
        wire="anthropic",
        base="https://api.anthropic.com/v1",
        path="/messages",
        key_variables=("ANTHROPIC_API_KEY",),
        header="x-api-key",
        headers={"anthropic-version": "2023-06-01"},
        dialect="anthropic-strict",
    ),
    _chat("openai", "OpenAI", "https://api.openai.com/v1", "OPENAI_API_KEY", fields={}, dialect="openai-strict"),
    Host(
        name="openai-responses",
        title="OpenAI Responses",
        wire="openai-responses",
        base="https://api.openai.com/v1",
        path="/responses",
        key_variables=("OPENAI_API_KEY",),
        dialect="openai-strict",
    ),
    Host(
        name="gemini",
        title="Google Gemini",
        wire="gemini",
        base=_GEMINI,
        path="/models/{model}:generateContent",
        stream_path="/models/{model}:streamGenerateContent?alt=sse",
        key_variables=_GEMINI_KEYS,
        header="x-goog-api-key",
        dialect="gemini-json",
        in_address=("model",),
    ),
    Host(
        name="gemini-interactions",
        title="Google Gemini Interactions",
        wire="gemini-interactions",
        base=_GEMINI,
        path="/interactions",
        key_variables=_GEMINI_KEYS,
        header="x-goog-api-key",
        dialect="gemini-json",
    ),
    Host(
        name="mistral",
        title="Mistral",
        wire="mistral",
        base="https://api.mistral.ai/v1",
        path="/chat/completions",
        key_variables=("MISTRAL_API_KEY",),
        dialect="mistral-strict",
    ),
    Host(
        name="cohere",
        title="Cohere",
        wire="cohere",
        base="https://api.cohere.com/v2",
        path="/chat",
        key_variables=("CO_API_KEY", "COHERE_API_KEY"),
        dialect="cohere-strict",
    ),
    Host(
        name="bedrock",
        title="Amazon Bedrock",
        wire="bedrock",
        base="https://bedrock-runtime.{}.amazonaws.com",
        base_variables=("AWS_REGION", "AWS_DEFAULT_REGION"),
        path="/model/{model}/converse",
        stream_path="/model/{model}/converse-stream",
        key_variables=("AWS_BEARER_TOKEN_BEDROCK",),
        key_needed=False,
        signed=True,
        framing="eventstream",
        dialect="bedrock-strict",
        in_address=("modelId",),
    ),
    _chat(
        "azure",
        "Azure OpenAI",
        "{}/openai/v1",
        "AZURE_OPENAI_API_KEY",
        base_variables=("AZURE_OPENAI_ENDPOINT",),
        header="api-key",
        fields={},
        dialect="openai-strict",
        example="DEPLOYMENT",
    ),
    _chat(
        "openrouter",
        "OpenRouter",
        "https://openrouter.ai/api/v1",
        "OPENROUTER_API_KEY",
        cost_field="cost",
        example="MAKER/NAME",
    ),
    _chat(
        "deepseek",
        "DeepSeek",
        "https://api.deepseek.com",
        "DEEPSEEK_API_KEY",
        # Its thinking models refuse a history in which an assistant message lacks the field.
        fields={**_OLDER, "$reasoning": "reasoning_content"},
    ),
    _chat("groq", "Groq", "https://api.groq.com/openai/v1", "GROQ_API_KEY", fields={}),
    _chat("together", "Together", "https://api.together.xyz/v1", "TOGETHER_API_KEY", example="MAKER/NAME"),
    _chat("fireworks", "Fireworks", "https://api.fireworks.ai/inference/v1", "FIREWORKS_API_KEY"),
    _chat("xai", "xAI", "https://api.x.ai/v1", "XAI_API_KEY", fields={}, dialect="openai-strict"),
    Host(
        name="ollama",
        title="Ollama",
        wire="ollama",
        base="http://127.0.0.1:11434",
        base_variables=("OLLAMA_HOST",),
        path="/api/chat",
        key_variables=("OLLAMA_API_KEY",),
        key_needed=False,
        framing="ndjson",
    ),
    _chat("vllm", "vLLM", "http://127.0.0.1:8000/v1", "VLLM_API_KEY", key_needed=False),
    _chat("sglang", "SGLang", "http://127.0.0.1:30000/v1", "SGLANG_API_KEY", key_needed=False),
    _chat("llama-cpp", "llama.cpp server", "http://127.0.0.1:8080/v1", "LLAMA_API_KEY", key_needed=False),
    _chat("lm-studio", "LM Studio", "http://127.0.0.1:1234/v1", "LM_API_TOKEN", key_needed=False),
)

HOSTS: Mapping[str, Host] = {host.name: host for host in _ROWS}
"""All hosts, by name."""

COMPATIBLE = _chat("http", "any server of this format", "", "COUNTERFOIL_API_KEY", key_needed=False)
"""What stands at a bare address: most servers speak OpenAI Chat Completions."""


def host(name: str) -> Host:
    """The host of that name. Raises `ModelError` naming the nearest ones if there is none."""
    found = HOSTS.get(name)
    if found is None:
        near = nearest(name)
        hint = f"did you mean {' or '.join(near)}? " if near else ""
        raise ModelError(f"no host is called {name!r}: {hint}There are {', '.join(HOSTS)}")
    return found


def nearest(name: str) -> list[str]:
    """The hosts whose names are nearest to a misspelt one, at most three."""
    flat = {row.replace("-", ""): row for row in HOSTS}
    wanted = "".join([letter for letter in name.lower() if letter.isalnum()])
    found = difflib.get_close_matches(wanted, flat, 3, 0.6)
    return [flat[each] for each in found]
