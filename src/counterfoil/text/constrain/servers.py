"""What a request to each server carries, so that it decodes under a constraint.

The fields are those of vLLM 0.33 (`structured_outputs`, `response_format`), SGLang 0.5 (`ebnf`, `response_format`),
llama.cpp's server (`grammar`, `preserved_tokens`; October 2026) and OpenAI's custom tools.
"""

from __future__ import annotations

import json
from typing import Any, Literal

import msgspec

from counterfoil.text.constrain.constraint import Constraint
from counterfoil.text.constrain.fit import Bounds, fit
from counterfoil.text.constrain.lark import HEADER, lark
from counterfoil.text.constrain.nodes import Node, Rules
from counterfoil.text.constrain.values import JSON, Values, part
from counterfoil.types.request import ToolSpec

Backend = Literal["xgrammar", "guidance"]


def vllm(constraint: Constraint, backend: Backend = "xgrammar") -> dict[str, Any]:
    """For vLLM, whose `--structured-outputs-config.backend` decides which language it reads."""
    if backend == "guidance":
        return {"structured_outputs": {"grammar": constraint.lark()}}
    return {"structured_outputs": {"structural_tag": json.dumps(constraint.structural_tag(), ensure_ascii=False)}}


def sglang(constraint: Constraint, backend: Backend = "xgrammar") -> dict[str, Any]:
    """For SGLang, whose `--grammar-backend` decides which language it reads."""
    if backend == "guidance":
        return {"ebnf": constraint.lark()}
    return {"response_format": constraint.structural_tag()}


def llama_cpp(constraint: Constraint, backend: Literal["gbnf", "guidance"] = "gbnf") -> dict[str, Any]:
    """For llama.cpp's server: GBNF, or Lark if it was built with llguidance.

    The markers are to be preserved: control tokens among them would not be written out otherwise.
    """
    grammar = constraint.gbnf() if backend == "gbnf" else constraint.lark()
    return {"grammar": grammar, "preserved_tokens": list(constraint.marks)}


def custom_tool(tool: ToolSpec) -> ToolSpec:
    """A tool whose input is free text held to a grammar (OpenAI's `custom`): the JSON of another tool's schema.

    For schemas that the strict mode of function tools cannot say.
    """
    schema, _ = fit(tool, Bounds(), None)
    rules: dict[str, Node] = {}
    start = Values(JSON, rules, part(schema, "$defs")).value(schema)
    definition = lark(Rules(start, rules)).removeprefix(f"{HEADER}\n")
    form = {"type": "grammar", "syntax": "lark", "definition": definition}
    return msgspec.structs.replace(tool, kind="custom", format=form, parameters={}, strict=None)
