"""BFCL's cases and checker, out of the `bfcl-eval` wheel where it is installed. Nothing of it is copied into here.

The wheel asks for forty packages, for the clients of models that it can measure. Its data and its checker of calls need
none of them: so it is installed without, and the one module that imports them all is stood in for.
"""

from __future__ import annotations

import contextlib
import difflib
import hashlib
import importlib
import importlib.util
import io
import sys
import types
from collections.abc import Callable, Iterable
from importlib import metadata
from pathlib import Path
from typing import Any, Literal

import msgspec

from counterfoil.cli.problem import Problem
from counterfoil.types.message import Message, Text

VERSION = "2026.3.23"
INSTALL = f"pip install --no-deps bfcl-eval=={VERSION}"

Language = Literal["python", "java", "javascript"]
Wanted = Literal["calls", "no call", "a call"]
"""What is right: the calls of the ground truth; none; any at all."""
Arguments = dict[str, Any]
Calls = list[tuple[str, Arguments]]


class Category(msgspec.Struct, frozen=True):
    """One file of cases."""

    name: str
    wanted: Wanted = "calls"
    language: Language = "python"


CATEGORIES = {
    each.name: each
    for each in (
        Category("simple_python"),
        Category("simple_java", language="java"),
        Category("simple_javascript", language="javascript"),
        Category("multiple"),
        Category("parallel"),
        Category("parallel_multiple"),
        Category("irrelevance", "no call"),
        Category("live_simple"),
        Category("live_multiple"),
        Category("live_parallel"),
        Category("live_parallel_multiple"),
        Category("live_irrelevance", "no call"),
        Category("live_relevance", "a call"),
    )
}
"""Every category of one turn."""

_LIVE = tuple(name for name in CATEGORIES if name.startswith("live_"))
GROUPS = {
    "all": tuple(CATEGORIES),
    "live": _LIVE,
    "non_live": tuple(name for name in CATEGORIES if name not in _LIVE),
    "python": tuple(each.name for each in CATEGORIES.values() if each.language == "python"),
}
LEFT_OUT = ("multi_turn", "memory", "web_search", "format_sensitivity", "agentic")
"""They execute calls on simulated systems over several turns, by running text as Python: not a matter of formats."""


class Case(msgspec.Struct, frozen=True):
    """One question: what was said, what may be called (BFCL's own declarations), and what is right."""

    id: str
    category: Category
    messages: tuple[Message, ...]
    functions: tuple[dict[str, Any], ...]
    truth: tuple[dict[str, dict[str, list[Any]]], ...] = ()
    """Calls, each `{name: {parameter: [acceptable values]}}`; an empty string among them: it may be left out."""


class Verdict(msgspec.Struct, frozen=True):
    """What the checker said."""

    valid: bool
    error: str = ""
    kind: str = ""


RIGHT = Verdict(True)


class _Row(msgspec.Struct, frozen=True):
    id: str
    question: list[list[dict[str, str]]]
    function: list[dict[str, Any]]


class _Answer(msgspec.Struct, frozen=True):
    id: str
    ground_truth: list[dict[str, dict[str, list[Any]]]]


def chosen(names: Iterable[str]) -> tuple[Category, ...]:
    """The categories of some names, in BFCL's order. Raises `Problem` for a name that is none."""
    wanted: set[str] = set()
    for name in names:
        if name.startswith(LEFT_OUT):
            raise Problem(
                f"{name} is not measured here: only BFCL's questions of one turn are. The others run calls on "
                f"simulated systems over many turns. The categories are {', '.join(CATEGORIES)}; or {', '.join(GROUPS)}"
            )
        if name not in CATEGORIES and name not in GROUPS:
            known = [*CATEGORIES, *GROUPS]
            near = difflib.get_close_matches(name.lower().replace("-", "_"), known, 2, 0.5)
            hint = f"Did you mean {' or '.join(near)}? " if near else ""
            raise Problem(f"BFCL has no category {name!r}. {hint}The categories are {', '.join(known)}")
        wanted.update(GROUPS.get(name, (name,)))
    return tuple(each for name, each in CATEGORIES.items() if name in wanted)


def sample(cases: Iterable[Case], limit: int | None, seed: int) -> list[Case]:
    """The first `limit` cases of an order that depends on the seed alone, so that a larger sample holds the smaller."""
    ordered = sorted(cases, key=lambda case: hashlib.sha256(f"{seed}:{case.id}".encode()).digest())
    return ordered[:limit]


class Bench:
    """The wheel. Raises `Problem`, with the line to run, where it is not installed."""

    def __init__(self) -> None:
        found = importlib.util.find_spec("bfcl_eval")
        places = found.submodule_search_locations if found else None
        if not places:
            raise Problem(
                f"BFCL's data and checker are not installed. Run: {INSTALL} (without its dependencies: none is "
                "needed here, and they would change the versions of other packages)"
            )
        self._data = Path(places[0]) / "data"
        try:
            self.version = metadata.version("bfcl-eval")
        except metadata.PackageNotFoundError:
            self.version = "unknown"
        self._prefix = "BFCL_v4_"
        self._checker: Callable[..., dict[str, Any]] | None = None

    def cases(self, category: Category) -> list[Case]:
        """All cases of a category. Raises `Problem` where another version of the wheel has them not, or otherwise."""
        rows = self._lines(self._data / f"{self._prefix}{category.name}.json", _Row)
        truth: dict[str, Any] = {}
        if category.wanted == "calls":
            path = self._data / "possible_answer" / f"{self._prefix}{category.name}.json"
            truth = {row.id: tuple(row.ground_truth) for row in self._lines(path, _Answer)}
        return [
            Case(row.id, category, _messages(row), tuple(row.function), truth.get(row.id, ()))
            for row in rows
            if row.question
        ]

    def _lines(self, path: Path, kind: type[Any]) -> list[Any]:
        try:
            return [msgspec.json.decode(line, type=kind) for line in path.read_bytes().splitlines() if line.strip()]
        except (OSError, msgspec.MsgspecError) as error:
            raise Problem(f"the data of bfcl-eval {self.version} cannot be read ({error}). Run: {INSTALL}") from None

    def judge(self, case: Case, calls: Calls) -> Verdict:
        """Ask BFCL's own checker about calls, under BFCL's own names."""
        if case.category.wanted == "no call":
            return Verdict(False, "a call, where none was to be made", "irrelevance") if calls else RIGHT
        if case.category.wanted == "a call":
            return RIGHT if calls else Verdict(False, "no call, where one was to be made", "relevance")
        written = [{name: arguments} for name, arguments in calls]
        name, language = case.category.name, case.category.language
        check = self._check()
        try:
            with contextlib.redirect_stdout(io.StringIO()):  # its reader of JavaScript prints what it cannot read
                said = check(list(case.functions), written, list(case.truth), self._language(language), name, "model")
        except Exception as error:  # noqa: BLE001 - it trips over values that it did not expect; such calls are not right
            return Verdict(False, f"the checker could not read the call: {error!r}", "checker")
        if said["valid"]:
            return RIGHT
        return Verdict(False, "; ".join(map(str, said["error"])), said["error_type"])

    def source_reader(self, language: Language) -> Callable[..., Any]:
        """BFCL's reader of source text in Java or JavaScript: `(text, type, type of items)` to a value."""
        short = {"java": "java", "javascript": "js"}[language]
        module = importlib.import_module(f"bfcl_eval.eval_checker.ast_eval.type_convertor.{short}_type_converter")
        read: Callable[..., Any] = getattr(module, f"{short}_type_converter")
        return read

    def _language(self, language: Language) -> Any:
        return importlib.import_module("bfcl_eval.constants.enums").Language(language)

    def _check(self) -> Callable[..., dict[str, Any]]:
        if self._checker is None:
            heavy = "bfcl_eval.constants.model_config"
            stands_in = heavy not in sys.modules
            if stands_in:
                module = types.ModuleType(heavy)
                vars(module)["MODEL_CONFIG_MAPPING"] = _AnyModel()
                sys.modules[heavy] = module
            try:
                found = importlib.import_module("bfcl_eval.eval_checker.ast_eval.ast_checker")
            except ImportError as error:
                told = f"the checker of bfcl-eval {self.version} does not load: {error}. Run: {INSTALL}"
                raise Problem(told) from None
            finally:
                if stands_in:
                    sys.modules.pop(heavy, None)
            checker: Callable[..., dict[str, Any]] = found.ast_checker
            self._checker = checker
        return self._checker


class _AnyModel(dict[str, Any]):
    """What the checker asks of its table of models: whether names lose their dots. Ours are put back before."""

    def __missing__(self, name: str) -> Any:
        return types.SimpleNamespace(underscore_to_dot=False)


def _messages(row: _Row) -> tuple[Message, ...]:
    roles: dict[str, Literal["system", "user", "assistant"]] = {"system": "system", "assistant": "assistant"}
    return tuple(Message(roles.get(said["role"], "user"), (Text(said["content"]),)) for said in row.question[0])
