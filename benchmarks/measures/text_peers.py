"""Reading by other libraries' parsers, in an environment of theirs: `text_peers transformers|vllm FOLDER [SOURCES]`.

The folder holds texts, in sizes that double. Each parser reads longer and longer ones until that takes too long; the
last size and the one before it say how fast it is, and how that grows. Only what it reads right is measured: where it
has no way to read prose between calls, the calls come behind all prose, or alone.
"""

from __future__ import annotations

import ast
import importlib
import importlib.machinery
import importlib.metadata
import json
import re
import sys
import time
import types
import uuid
from collections.abc import Callable, Sequence
from importlib.abc import Loader, MetaPathFinder
from pathlib import Path
from typing import Any

MOST = 0.5
"""Seconds of CPU after which no longer text is tried."""
Parse = Callable[[str], list[Any]]
Reader = tuple[Parse, Parse]
"""What reads a whole text, and what reads it by four characters: both return the arguments of all calls."""


def best(work: Callable[[], object], rounds: int) -> float:
    """CPU seconds, the best of several."""
    found: list[float] = []
    for _ in range(rounds):
        began = time.process_time()
        work()
        found.append(time.process_time() - began)
    return min(found)


def cut(text: str, size: int) -> list[str]:
    """A text in pieces."""
    return [text[at : at + size] for at in range(0, len(text), size)]


# transformers


_TEMPLATES = {"hermes": ("qwen3", "<|im_start|>assistant\n"), "qwen3-coder": ("qwen3_5", "<|im_start|>assistant\n")}
_TEMPLATES |= {"gemma4": ("gemma4", "<|turn>model\n")}


def transformers(name: str, tools: list[Any]) -> Reader | None:
    """The response templates that the library itself brings; those of other models are with their weights."""
    if name not in _TEMPLATES:
        return None
    model, prefix = _TEMPLATES[name]
    module = importlib.import_module("transformers.utils.chat_parsing")
    template = next(held for models, held in _shipped() if model in models)
    declared = [{"type": "function", "function": tool} for tool in tools]

    def read(pieces: Sequence[str]) -> list[Any]:
        parser = module.ResponseParser(template, prefix=prefix, tools=declared)
        for piece in pieces:
            parser.feed(piece)
        message, _ = parser.finalize()
        return [call["function"]["arguments"] for call in message.get("tool_calls", [])]

    return lambda text: read([text]), lambda text: read(cut(text, 4))


def _shipped() -> list[tuple[tuple[str, ...], Any]]:
    # Read as data: the module that holds them wants PyTorch.
    found = importlib.machinery.PathFinder.find_spec("transformers")
    assert found is not None
    assert found.origin is not None
    source = (Path(found.origin).parent / "cli" / "serving" / "utils.py").read_text()
    for node in ast.parse(source).body:
        if isinstance(node, ast.Assign) and ast.unparse(node.targets[0]) == "_RESPONSE_TEMPLATE_FALLBACKS":
            return list(ast.literal_eval(node.value).items())
    return []


# vLLM


_PARSERS = {
    "hermes": "hermes_tool_parser.Hermes2ProToolParser",
    "qwen3-coder": "qwen3_engine_tool_parser.Qwen3EngineToolParser",
    "glm": "glm47_moe_tool_parser.Glm47MoeModelToolParser",
    "deepseek-v3.1": "deepseekv31_tool_parser.DeepSeekV31ToolParser",
    "kimi-k2": "kimi_k2_tool_parser.KimiK2ToolParser",
    "mistral-v13": "mistral_tool_parser.MistralToolParser",
    "llama3-json": "llama_tool_parser.Llama3JsonToolParser",
    "llama4-pythonic": "llama4_pythonic_tool_parser.Llama4PythonicToolParser",
    "gemma4": "gemma4_engine_tool_parser.Gemma4EngineToolParser",
}
_PACKAGES = ("vllm", "vllm.entrypoints", "vllm.entrypoints.generate", "vllm.entrypoints.generate.base")
_ABSENT = (
    "torch",
    "xgrammar",
    "vllm.config",
    "vllm.entrypoints.chat_utils",
    "vllm.entrypoints.mcp",
    "vllm.entrypoints.openai",
    "vllm.entrypoints.serve",
    "vllm.inputs",
    "vllm.multimodal",
    "vllm.platforms",
    "vllm.plugins",
    "vllm.renderers",
    "vllm.sampling_params",
    "vllm.tokenizers",
)
_TOKEN = re.compile(r"</?(?:think|tool_call|arg_key|arg_value)>|<[|｜][^<>]*[|｜]>|<\|[\w\"]*>|<\w+\|>|\[[A-Z_]{4,}\]")
"""What is one token in these models' vocabularies, and comes as one."""


class _Any(type):
    """The kind of a stand-in: has every attribute, and takes part in annotations."""

    def __getattr__(cls, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        return cls

    def __or__(cls, other: object) -> Any:
        return cls

    def __ror__(cls, other: object) -> Any:
        return cls


class _Typed(metaclass=_Any):
    """What models of pydantic take as the type of a field."""

    def __class_getitem__(cls, _: object) -> Any:
        return cls

    @classmethod
    def __get_pydantic_core_schema__(cls, *_: object) -> Any:
        return importlib.import_module("pydantic_core").core_schema.any_schema()


class _StandIn(types.ModuleType):
    """A module of the server or the GPU, which parsers name in annotations and do not run."""

    __path__: list[str] = []  # noqa: RUF012 - what makes a module a package

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        made: Any = _Any(name, (_Typed,), {})
        if name == "OpenAIBaseModel":
            made = importlib.import_module("pydantic").BaseModel
        if name == "make_tool_call_id":
            made = _call_id
        setattr(self, name, made)
        return made


def _call_id(*_: Any, **__: Any) -> str:
    return f"chatcmpl-tool-{uuid.uuid4().hex}"


class _StandIns(MetaPathFinder, Loader):
    def find_spec(self, name: str, *_: Any) -> importlib.machinery.ModuleSpec | None:
        stands = any(name == each or name.startswith(f"{each}.") for each in _ABSENT)
        return importlib.machinery.ModuleSpec(name, self, is_package=True) if stands else None

    def create_module(self, spec: importlib.machinery.ModuleSpec) -> types.ModuleType:
        return _StandIn(spec.name)

    def exec_module(self, module: types.ModuleType) -> None:
        """There is nothing in it."""


def without_gpu(sources: str) -> None:
    """Let the parsers of vLLM be imported from its wheel's files, without PyTorch and the server."""
    sys.meta_path.insert(0, _StandIns())
    for name in _PACKAGES:
        module = types.ModuleType(name)
        module.__path__ = [f"{sources}/{name.replace('.', '/')}"]
        sys.modules[name] = module


class Tokens:
    """A tokenizer to show to a parser: markers are tokens, and so is every piece of other text."""

    def __init__(self) -> None:
        self._known: dict[str, int] = {}
        self._texts: list[str] = []
        markers = ["<think>", "</think>", "<tool_call>", "</tool_call>", "<|python_tag|>", "[TOOL_CALLS]", "[ARGS]"]
        markers += ["<|im_start|>", "<|im_end|>", "<|tool_call>", "<tool_call|>", "<|channel>", "<channel|>", '<|"|>']
        markers += [f"<｜tool▁{each}｜>" for each in ("calls▁begin", "calls▁end", "call▁begin", "call▁end", "sep")]
        markers += [f"<|tool_call{each}|>" for each in ("_begin", "_end", "_argument_begin")]
        markers += [f"<|tool_calls_section_{each}|>" for each in ("begin", "end")]
        for marker in markers:
            self.number(marker)

    def number(self, text: str) -> int:
        """The token that a piece is."""
        if text not in self._known:
            self._known[text] = len(self._texts)
            self._texts.append(text)
        return self._known[text]

    def get_vocab(self) -> dict[str, int]:
        """All tokens."""
        return self._known

    def decode(self, numbers: Sequence[int], **_: Any) -> str:
        """The text of tokens."""
        return "".join(self._texts[each] for each in numbers)

    def cut(self, text: str) -> list[str]:
        """Markers whole, the rest by four characters."""
        pieces: list[str] = []
        at = 0
        for found in _TOKEN.finditer(text):
            pieces += [*cut(text[at : found.start()], 4), found[0]]
            at = found.end()
        return pieces + cut(text[at:], 4)


def vllm(name: str, tools: list[Any]) -> Reader | None:
    """The parser that vLLM's server uses for the family."""
    if name not in _PARSERS:
        return None
    module, kind = _PARSERS[name].split(".")
    parser: Any = getattr(importlib.import_module(f"vllm.tool_parsers.{module}"), kind)
    function = importlib.import_module("openai.types.responses").FunctionTool
    declared = [function(type="function", strict=None, **tool) for tool in tools]
    request = types.SimpleNamespace(tools=declared, tool_choice="auto", skip_special_tokens=False)

    def whole(text: str) -> list[Any]:
        found = parser(Tokens(), declared).extract_tool_calls(text, request)
        return [json.loads(call.function.arguments) for call in found.tool_calls]

    def by4(text: str) -> list[Any]:
        words = Tokens()
        reading, said, numbers = parser(words, declared), "", list[int]()
        arguments: dict[int, str] = {}
        deltas: list[Any] = []
        for piece in words.cut(text):
            new = [words.number(piece)]
            # As its server does: parsers of the newer kind are given what is new, the others all there is, too.
            held, held_numbers = ("", []) if parser.engine_based_streaming else (said, numbers)
            said, numbers = held + piece, held_numbers + new
            deltas.append(reading.extract_tool_calls_streaming(held, said, piece, held_numbers, numbers, new, request))
        if hasattr(reading, "finish_streaming"):
            deltas.append(reading.finish_streaming())
        for delta in filter(None, deltas):
            for call in delta.tool_calls or ():
                more = call.function.arguments if call.function is not None else None
                arguments[call.index] = arguments.get(call.index, "") + (more or "")
        return [json.loads(each) for each in arguments.values()]

    return whole, by4


# Measuring


def right(parse: Parse, text: str, calls: list[Any]) -> bool:
    """Whether a parser reads the calls of a text as they were written."""
    try:
        return parse(text) == calls
    except Exception:  # noqa: BLE001 - whatever a peer raises, it has not read the text
        return False


def measure(parse: Parse, shapes: dict[str, Any]) -> dict[str, Any]:
    """The shape of text that is read, MB per second of the shortest and the longest one, and how the time grew."""
    for shape, held in shapes.items():
        if not right(parse, held["texts"][0], held["calls"][0]):
            continue
        found: list[tuple[int, float]] = []
        for text, calls in zip(held["texts"], held["calls"], strict=True):
            if not right(parse, text, calls):
                break
            found.append((len(text.encode()), best(lambda: parse(text), 3 if found else 20)))  # noqa: B023 - called here
            if found[-1][1] > MOST:
                break
        return {"shape": shape, **summary(found)}
    return {"shape": None}


def summary(found: Sequence[tuple[int, float]]) -> dict[str, Any]:
    """What bytes and seconds say: growth is the time of the longest text per that of one half as long."""
    (first, least), (size, took) = found[0], found[-1]
    rates = {"small": first / least / 1e6, "bytes": size, "rate": size / took / 1e6}
    if len(found) == 1:
        return rates
    half, before = found[-2]
    return {**rates, "growth": took / before * 2 * half / size}


def main() -> None:
    """Measure every family that the peer has a parser for."""
    which, folder, *sources = sys.argv[1:]
    version = Path(sources[0]).name.split("-")[-1] if sources else importlib.metadata.version(which)
    if sources:
        without_gpu(sources[0])
    for file in sorted(Path(folder).glob("*.json")):
        held = json.loads(file.read_text())
        reader = (transformers if which == "transformers" else vllm)(file.stem, held["tools"])
        if reader is not None:
            whole, by4 = (measure(parse, held["shapes"]) for parse in reader)
            row = {"family": file.stem, "reader": f"{which} {version}", "whole": whole, "by4": by4}
            print(json.dumps(row), flush=True)


if __name__ == "__main__":
    main()
