"""Split a docstring into what a tool does and what each parameter means.

Reads the three usual styles: Google's `Args:`, NumPy's underlined `Parameters`, Sphinx's `:param name:`. A library does
this too, but would be a sixth distribution in the core for these few lines.
"""

from __future__ import annotations

import inspect
import re

_SPHINX = re.compile(r"^:param(?:\s+[^:]+?)??\s+(\w+)\s*:\s*(.*)$")
_SPHINX_OTHER = re.compile(r"^:(?:type|returns?|rtype|raises?|yields?)\b")
_GOOGLE_HEAD = re.compile(r"^(Args|Arguments|Parameters|Params)\s*:\s*$")
_GOOGLE_OTHER = re.compile(r"^(Returns?|Raises?|Yields?|Examples?|Notes?|See Also|Todo)\s*:\s*$")
_GOOGLE_ITEM = re.compile(r"^(\*{0,2}\w+)\s*(?:\([^)]*\))?\s*:\s*(.*)$")
_NUMPY_ITEM = re.compile(r"^(\w+)\s*(?::.*)?$")


def split_docstring(text: str | None) -> tuple[str, dict[str, str]]:
    """Return the description without its sections, and each parameter's description."""
    lines = inspect.cleandoc(text or "").splitlines()
    description: list[str] = []
    parameters: dict[str, str] = {}
    index = 0
    while index < len(lines):
        line = lines[index]
        following = lines[index + 1] if index + 1 < len(lines) else ""
        underlined = len(following) >= 3 and set(following.strip()) == {"-"}
        if _GOOGLE_HEAD.match(line):
            index = _items(lines, index + 1, _GOOGLE_ITEM, parameters)
        elif underlined and line.strip() == "Parameters":
            index = _numpy_items(lines, index + 2, parameters)
        elif underlined:
            index = _numpy_items(lines, index + 2, {})
        elif _GOOGLE_OTHER.match(line):
            index = _skip_section(lines, index + 1)
        elif match := _SPHINX.match(line):
            index = _continued(lines, index + 1, match[1], match[2], parameters)
        elif _SPHINX_OTHER.match(line):
            index = _skip_section(lines, index + 1)
        else:
            description.append(line)
            index += 1
    return "\n".join(description).strip(), parameters


def _indent(line: str) -> int:
    return len(line) - len(line.lstrip())


def _items(lines: list[str], index: int, item: re.Pattern[str], into: dict[str, str]) -> int:
    base: int | None = None
    name = ""
    while index < len(lines) and (not lines[index].strip() or _indent(lines[index]) > 0):
        line = lines[index]
        base = _indent(line) if base is None and line.strip() else base
        match = item.match(line.strip()) if line.strip() and _indent(line) == base else None
        if match:
            name = match[1].lstrip("*")
            into[name] = match[2].strip()
        elif name and line.strip():
            into[name] = f"{into[name]} {line.strip()}".strip()
        index += 1
    return index


def _numpy_items(lines: list[str], index: int, into: dict[str, str]) -> int:
    name = ""
    while index < len(lines):
        line = lines[index]
        following = lines[index + 1] if index + 1 < len(lines) else ""
        if line.strip() and len(following) >= 3 and set(following.strip()) == {"-"}:
            break
        match = _NUMPY_ITEM.match(line) if line.strip() and _indent(line) == 0 else None
        if match:
            name = match[1]
            into[name] = ""
        elif name and line.strip():
            into[name] = f"{into[name]} {line.strip()}".strip()
        index += 1
    return index


def _continued(lines: list[str], index: int, name: str, first: str, into: dict[str, str]) -> int:
    words = [first.strip()]
    while index < len(lines) and lines[index].strip() and _indent(lines[index]) > 0:
        words.append(lines[index].strip())
        index += 1
    into[name] = " ".join(words).strip()
    return index


def _skip_section(lines: list[str], index: int) -> int:
    while index < len(lines) and (not lines[index].strip() or _indent(lines[index]) > 0):
        index += 1
    return index
