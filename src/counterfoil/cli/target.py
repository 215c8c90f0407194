"""`module:attribute`: find the user's catalogue, and say what is wrong when it is none."""

from __future__ import annotations

import difflib
import importlib
import importlib.util
import inspect
import os
import sys
import traceback
from pathlib import Path
from types import ModuleType
from typing import Any, cast

import msgspec

from counterfoil.cli.problem import Problem
from counterfoil.gate.gate import Gate
from counterfoil.journal.journal import Journal
from counterfoil.models.model import Model
from counterfoil.run.harness import Harness
from counterfoil.run.resolve import Resolve
from counterfoil.sync import Harness as SyncHarness
from counterfoil.tools.catalogue import Catalogue
from counterfoil.tools.tool import Tool
from counterfoil.types.error import CatalogueError
from counterfoil.types.request import Sampling

EXPECTED = "a Catalogue, a list of tools, a Harness, or a function without parameters that returns one"


class Target(msgspec.Struct, frozen=True):
    """What `module:attribute` is. The fields beyond the catalogue are a Harness's, if it is one."""

    catalogue: Catalogue
    gate: Gate | None = None
    journal: Journal | None = None
    model: Model | None = None
    instructions: str = ""
    sampling: Sampling | None = None
    resolve: Resolve | None = None

    def harness(self, journal: Journal, model: Model | None = None) -> Harness:
        """A harness like the target's, on this journal."""
        return Harness(
            model or self.model,
            self.catalogue,
            gate=self.gate,
            journal=journal,
            instructions=self.instructions,
            sampling=self.sampling,
            resolve=self.resolve,
        )


def load_target(spec: str) -> Target:
    """Import `module:attribute` (or `path/to/file.py:attribute`). Raises `Problem`, with what to change."""
    name, colon, attribute = spec.rpartition(":")
    if not colon or not name or not attribute:
        raise Problem(f"{spec!r} names no catalogue: write module:attribute, like shop:catalogue for shop.py")
    module = _import(name, spec)
    if not hasattr(module, attribute):
        raise Problem(f"{name} has no {attribute!r}{_candidates(module, attribute)}")
    value = getattr(module, attribute)
    if inspect.isroutine(value) or inspect.isclass(value):
        value = _make(spec, value)
    target = _target(spec, value)
    if target is None:
        kind = type(value).__name__
        raise Problem(f"{spec} is no catalogue but a {kind}: it must be {EXPECTED}{_candidates(module, attribute)}")
    return target


def _target(spec: str, value: Any) -> Target | None:
    if isinstance(value, SyncHarness):
        value = value.harness
    if isinstance(value, Harness):
        return Target(
            value.catalogue, value.gate, value.journal, value.model, value.instructions, value.sampling, value.resolve
        )
    if isinstance(value, Catalogue):
        return Target(value)
    if isinstance(value, Tool):
        return Target(Catalogue([value]))
    if isinstance(value, list | tuple) and value:
        try:
            return Target(Catalogue(cast("list[Tool]", value)))
        except CatalogueError as error:
            raise Problem(f"{spec}: {error}") from error
    return None


def _import(name: str, spec: str) -> ModuleType:
    if os.getcwd() not in sys.path:
        sys.path.insert(0, os.getcwd())
    path = Path(name)
    by_path = path.suffix == ".py"
    if by_path and not path.is_file():
        raise Problem(f"there is no file {name}: give its path as seen from {os.getcwd()}")
    try:
        return _import_file(path) if by_path else importlib.import_module(name)
    except ModuleNotFoundError as error:
        missing = error.name or ""
        if not by_path and (name == missing or name.startswith(f"{missing}.")):
            raise Problem(
                f"there is no module {missing!r}: run this in the folder that holds {missing.split('.')[0]}.py, "
                f"install its package, or give the file: path/to/{missing.split('.')[-1]}.py:{spec.rpartition(':')[2]}"
            ) from error
        raise Problem(f"{name} needs the module {missing!r}, which is not installed: install it{_at(error)}") from error
    except CatalogueError as error:
        raise Problem(f"{error}{_at(error)}") from error
    except SystemExit as error:
        raise Problem(
            f'{name} ends the process when it is imported: put that under if __name__ == "__main__"'
        ) from error
    except Exception as error:
        raise Problem(f"{name} cannot be imported: {type(error).__name__}: {error}{_at(error)}") from error


def _import_file(path: Path) -> ModuleType:
    folder = str(path.resolve().parent)
    if folder not in sys.path:
        sys.path.insert(0, folder)
    found = importlib.util.spec_from_file_location(path.stem, path)
    if found is None or found.loader is None:
        raise Problem(f"{path} cannot be imported: it must be a Python file")
    module = importlib.util.module_from_spec(found)
    sys.modules[path.stem] = module
    found.loader.exec_module(module)
    return module


def _make(spec: str, function: Any) -> Any:
    try:
        required = [
            each.name
            for each in inspect.signature(function).parameters.values()
            if each.default is each.empty and each.kind not in (each.VAR_POSITIONAL, each.VAR_KEYWORD)
        ]
    except (TypeError, ValueError):
        required = []
    if required:
        named = getattr(function, "__name__", spec)
        raise Problem(
            f"{spec} is a function that needs {', '.join(required)}: it must be {EXPECTED}. "
            f"A single tool is written with @tool above def {named}"
        )
    try:
        return function()
    except CatalogueError as error:
        raise Problem(f"{spec}: {error}{_at(error)}") from error
    except Exception as error:
        raise Problem(f"{spec} could not be called: {type(error).__name__}: {error}{_at(error)}") from error


def _candidates(module: ModuleType, wanted: str) -> str:
    """Say what else the module holds that would do; the nearest name first."""
    usable = (Catalogue, Harness, SyncHarness)
    names = [
        name
        for name, value in vars(module).items()
        if not name.startswith("_")
        and (isinstance(value, usable) or (isinstance(value, list) and value and isinstance(value[0], Tool)))
        and name != wanted
    ]
    if not names:
        return ""
    near = difflib.get_close_matches(wanted, names, 1)
    ordered = [*near, *[name for name in names if name not in near]]
    return f". What would do there: {', '.join(ordered[:5])}"


def _at(error: BaseException) -> str:
    """The place in the user's code from which an error came."""
    ours = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
    for frame in reversed(traceback.extract_tb(error.__traceback__)):
        if not frame.filename.startswith((ours, "<frozen")) and "importlib" not in frame.filename:
            return f" ({os.path.basename(frame.filename)}, line {frame.lineno})"
    return ""
