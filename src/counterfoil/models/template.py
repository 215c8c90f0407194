"""A model's own chat template, and which family of text formats it is for. Rendering needs the extra `local`.

A template is somebody else's program: it runs in minijinja, which has no way to the world, and for so long only.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from datetime import UTC, datetime
from importlib import import_module
from pathlib import Path
from typing import Any

import msgspec

from counterfoil.models.local import gguf
from counterfoil.text.family import Family
from counterfoil.text.grammars.grammar import tokens
from counterfoil.text.registry import families
from counterfoil.types.error import MissingExtra, ModelError
from counterfoil.types.json import is_array, is_object

FUEL = 5_000_000
"""Instructions that a template may run."""
_GENERATION = re.compile(r"\{%-?\s*(?:end)?generation\s*-?%\}")
_FIELDS = ("chat_template", "bos_token", "eos_token")


class TemplateRefuses(ModelError):
    """A template cannot say what it was given: it raised, or it is no template."""


class ChatTemplate:
    """One template. `control` are the tokenizer's control tokens and their numbers, where they are known."""

    def __init__(
        self,
        source: str,
        *,
        name: str = "the chat template",
        bos: str = "",
        eos: str = "",
        control: Mapping[str, int] | None = None,
        now: Callable[[], datetime] = lambda: datetime.now(UTC),
    ) -> None:
        try:
            minijinja: Any = import_module("minijinja")
        except ImportError as error:
            raise MissingExtra("A chat template", "local") from error
        self.source, self.name, self.bos, self.eos = source, name, bos, eos
        self.control = dict(control or {})
        self._marks = re.compile("|".join(map(re.escape, sorted(self.control, key=len, reverse=True))) or r"(?!)")
        self._failed: tuple[type[Exception], ...] = (minijinja.TemplateError, _Raised)
        self._environment: Any = minijinja.Environment(
            trim_blocks=True,
            lstrip_blocks=True,
            fuel=FUEL,
            globals={"raise_exception": _raise, "strftime_now": _today(now)},
        )
        # Where training counts tokens, not rendering: jinja2 has the tag by an extension only.
        self._plain = _GENERATION.sub("", source)

    @classmethod
    def load(cls, path: str | Path, *, tools: bool = True) -> ChatTemplate:
        """Read the template of a GGUF file, a tokenizer's directory, or a file that holds the template alone.

        `tools`: of several templates in one directory, take the one for tool use. Raises `ModelError`.
        """
        where = Path(path).expanduser()
        try:
            if where.is_dir():
                return _of_tokenizer(cls, where, tools)
            if where.suffix == ".gguf":
                found = gguf.read(where)
                return cls(found.template, name=found.name, bos=found.bos, eos=found.eos, control=gguf.special(where))
            return cls(where.read_text(encoding="utf-8"), name=where.name)
        except (OSError, UnicodeDecodeError, msgspec.DecodeError) as error:
            raise ModelError(f"no chat template can be read from {where.name}: {error}") from error

    def render(
        self, messages: Sequence[Mapping[str, Any]], tools: Sequence[Mapping[str, Any]] = (), **more: Any
    ) -> str:
        """Render a conversation, ready for the next reply. Raises `TemplateRefuses`."""
        try:
            text: str = self._environment.render_str(
                self._plain,
                messages=list(messages),
                tools=list(tools) or None,
                add_generation_prompt=True,
                bos_token=self.bos,
                eos_token=self.eos,
                **more,
            )
        except self._failed as error:
            raise TemplateRefuses(f"{self.name} cannot be rendered: {str(error).splitlines()[0]}") from error
        return text

    def harmless(self, text: str) -> str:
        """The text with the control tokens in it taken apart: what people and tools write cannot end a turn."""
        return self._marks.sub(lambda found: f"{found[0][0]} {found[0][1:]}", text)


def _today(now: Callable[[], datetime]) -> Callable[[str], str]:
    def today(form: str) -> str:
        return now().strftime(form)

    return today


class _Raised(Exception):
    pass


def _raise(message: Any) -> str:
    raise _Raised(str(message))


def _of_tokenizer(kind: type[ChatTemplate], where: Path, tools: bool) -> ChatTemplate:
    config: Any = {}
    if (file := where / "tokenizer_config.json").is_file():
        config = msgspec.json.decode(file.read_bytes())
    if not is_object(config):
        raise ModelError(f"{file.name} of {where.name} is no JSON object")
    source: Any = config.get("chat_template")
    for name in ("chat_template.jinja", "chat_template.json"):
        if (file := where / name).is_file():
            text = file.read_text(encoding="utf-8")
            source = text if name.endswith("jinja") else msgspec.json.decode(text)["chat_template"]
            break
    if is_array(source):
        named = {each["name"]: each["template"] for each in source}
        source = (named.get("tool_use") if tools else None) or named.get("default") or next(iter(named.values()), None)
    if not isinstance(source, str) or not source:
        raise ModelError(f"{where.name} has no chat template: take the tokenizer of an instruct model")
    added: Any = config.get("added_tokens_decoder") or {}
    control = {each["content"]: int(number) for number, each in added.items() if each.get("special")}
    _, bos, eos = (_token(config.get(field)) for field in _FIELDS)
    return kind(source, name=where.name, bos=bos, eos=eos, control=control)


def _token(value: Any) -> str:
    return str(value.get("content", "")) if is_object(value) else value if isinstance(value, str) else ""


def detect(source: str) -> Family | None:
    """Which family a template is for, by the markers in it; `None` if there are none that any family knows.

    The family counts of which the most is there and the least is missing: of calls, results, reasoning and stops.
    """
    scored = [(_score(each, source), each.name == "hermes", each.name) for each in families().values()]
    best, _, name = max(scored)
    return families()[name] if best > 0 else None


def _score(family: Family, source: str) -> float:
    calls = family.calls
    also: tuple[str, ...] = getattr(calls, "also", ())
    own = [part for literal in calls.marks() if literal not in also for part in tokens(literal) if len(part) > 2]
    begins = [each for each in calls.openers() if each not in "{["]
    if own and not any(each in source for each in begins):
        return 0.0
    results = family.results
    literals = [*also, *(results.open, results.close, results.begin, results.end), family.reasoning.open, *family.stop]
    others = {part for literal in literals for part in tokens(literal.partition("{")[0]) if len(part) > 2}
    held = sum(each in source for each in others)
    if not own:
        # Bare calls have no markers: the name of their arguments, and how turns end, have to do.
        keys = getattr(calls, "keys", None)
        return held - 0.1 * (len(others) - held) if held and keys and f'"{keys.arguments}"' in source else 0.0
    present = sum(each in source for each in own)
    return 4.0 * present - 3.0 * (len(own) - present) + held - 0.5 * (len(others) - held)
