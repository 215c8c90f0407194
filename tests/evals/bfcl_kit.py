"""A wheel in the shape of `bfcl-eval`: a handful of cases of our own, and a checker that is as strict as need be."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

PACKAGES = ("", "constants", "eval_checker", "eval_checker/ast_eval", "eval_checker/ast_eval/type_convertor")
ENUMS = """
from enum import Enum
class Language(Enum):
    PYTHON = "python"
    JAVA = "java"
    JAVASCRIPT = "javascript"
"""
HEAVY = "raise ImportError('this module wants the clients of forty providers')\n"
CHECKER = """
from bfcl_eval.constants.model_config import MODEL_CONFIG_MAPPING
from bfcl_eval.eval_checker.ast_eval.type_convertor.java_type_converter import java_type_converter

def _fits(name, options, functions, call, language):
    if name not in call:
        return False
    given, declared = call[name], functions[name]["parameters"]["properties"]
    for key, values in options.items():
        if key not in given:
            if "" not in values:
                return False
            continue
        value = given[key]
        if language.value == "java":
            value = java_type_converter(value, declared[key]["type"], declared[key].get("items", {}).get("type"))
        if isinstance(value, dict):
            if not any(set(value) == set(v) and all(value[k] in v[k] for k in v) for v in values if v):
                return False
        elif not any(type(v) is type(value) and v == value for v in values if v != ""):
            return False
    return set(given) <= set(options)

def ast_checker(functions, written, truth, language, category, model):
    assert MODEL_CONFIG_MAPPING[model].underscore_to_dot is False
    known = {each["name"]: each for each in functions}
    left = list(written)
    for call in truth:
        (name, options), = call.items()
        found = next((each for each in left if _fits(name, options, known, each, language)), None)
        if found is None:
            return {"valid": False, "error": [f"no call fits {call}"], "error_type": "nothing_fits"}
        left.remove(found)
    if left:
        return {"valid": False, "error": ["too many"], "error_type": "wrong_count"}
    return {"valid": True, "error": []}
"""
JAVA = """
def java_type_converter(value, kind, items=None):
    if kind == "boolean" and value in ("true", "false"):
        return value == "true"
    if kind == "long" and value.endswith("L"):
        return int(value[:-1])
    if kind == "ArrayList" and value.startswith("new ArrayList<>(Arrays.asList("):
        return [each.strip().strip('"') for each in value[30:-2].split(",")]
    return value
"""


def function(name: str, properties: dict[str, Any], *required: str) -> dict[str, Any]:
    """A declaration in BFCL's words."""
    parameters = {"type": "dict", "properties": properties, "required": list(required)}
    return {"name": name, "description": f"Does {name}.", "parameters": parameters}


def typed(kind: str, **more: Any) -> dict[str, Any]:
    """A parameter."""
    return {"type": kind, "description": f"some {kind}", **more}


WEATHER = function(
    "weather.today",
    {
        "city": typed("string"),
        "days": typed("integer", default=1),
        "level": typed("float"),
        "where": typed("tuple", items={"type": "float"}),
        "more": typed("dict"),
        "filter": typed("dict", properties={"wind": typed("boolean"), "unit": typed("string", enum=["C", "F"])}),
        "any": typed("any"),
        "Content-Type": typed("string", enum=None),
    },
    "city",
)
LOOK = function("desk.look_up", {"order": typed("string")}, "order")
LOOK_TOO = function("desk_look_up", {"order": typed("string")}, "order")
JAVA_FUNCTION = function(
    "Log.write", {"lines": typed("ArrayList", items={"type": "String"}), "size": typed("long"), "all": typed("boolean")}
)
BAD = function("bad", {"x": typed("integer")}, "x")

CASES: dict[str, list[tuple[str, list[dict[str, Any]], list[dict[str, Any]] | None]]] = {
    "simple_python": [
        (
            "Weather in Zürich?",
            [WEATHER],
            [
                {
                    "weather.today": {
                        "city": ['Zürich </tool_call> "x" \\ {', "Zurich"],
                        "days": ["", 1],
                        "level": [2.5],
                        "where": [[47.25, 8.5]],
                        "more": [{"a": [1, 2], "b": [["x"]]}],
                        "filter": [{"wind": [True], "unit": ["C"]}],
                        "any": [[1, "two"]],
                        "Content-Type": ["text/html"],
                    }
                }
            ],
        ),
        ("Nothing but the city", [WEATHER], [{"weather.today": {"city": ["007"], "level": ["", 1.0]}}]),
        ("What its own schema forbids", [BAD], [{"bad": {"x": ["data['x']"]}}]),
    ],
    "multiple": [("Where is 0012?", [LOOK_TOO, LOOK], [{"desk.look_up": {"order": ["0012"]}}])],
    "parallel": [
        ("Two of them", [LOOK], [{"desk.look_up": {"order": ["A"]}}, {"desk.look_up": {"order": ["B\n\n [b]"]}}])
    ],
    "irrelevance": [("Sing", [LOOK], None), ("Dance", [LOOK], None)],
    "live_relevance": [("Anything", [LOOK], None)],
    "simple_java": [("Log", [JAVA_FUNCTION], [{"Log.write": {"lines": [["a", "b"]], "size": [3], "all": [True]}}])],
    "live_simple": [("Nothing is right", [LOOK], [{"desk.look_up": {"order": ["A"], "lost": []}}])],
}
"""By category: what is asked, the functions, the ground truth. Of the last, the checker takes no answer at all."""


def install(folder: Path) -> None:
    """Write the wheel's files."""
    root = folder / "bfcl_eval"
    files = {
        "constants/enums.py": ENUMS,
        "constants/model_config.py": HEAVY,
        "eval_checker/ast_eval/ast_checker.py": CHECKER,
        "eval_checker/ast_eval/type_convertor/java_type_converter.py": JAVA,
    }
    for package in PACKAGES:
        (root / package).mkdir(parents=True, exist_ok=True)
        (root / package / "__init__.py").write_text("")
    for name, text in files.items():
        (root / name).write_text(text)
    (root / "data" / "possible_answer").mkdir(parents=True)
    for category, cases in CASES.items():
        rows, answers = [], []
        for number, (asked, functions, truth) in enumerate(cases):
            said = [[{"role": "system", "content": "Be brief."}, {"role": "user", "content": asked}]]
            rows.append({"id": f"{category}_{number}", "question": said, "function": functions})
            answers.append({"id": f"{category}_{number}", "ground_truth": truth})
        (root / "data" / f"BFCL_v4_{category}.json").write_text("\n".join(map(json.dumps, rows)))
        if cases[0][2] is not None:
            (root / "data" / "possible_answer" / f"BFCL_v4_{category}.json").write_text(
                "\n".join(map(json.dumps, answers))
            )
