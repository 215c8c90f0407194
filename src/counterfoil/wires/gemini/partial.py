"""Arguments that come in pieces, each with the JSON path (RFC 9535) of the value it belongs to."""

from __future__ import annotations

import re
from typing import Any

import msgspec

from counterfoil.wires import _fields as fields
from counterfoil.wires.wire import Body

_STEP = re.compile(r"""\.([^.\[\]]+)|\[(\d+)\]|\['((?:[^'\\]|\\.)*)'\]|\["((?:[^"\\]|\\.)*)"\]""")
_VALUES = ("stringValue", "numberValue", "boolValue", "nullValue")
Step = str | int


def steps(path: str) -> list[Step] | None:
    """A path as the keys and indices that lead to the value; `None` if it is not a path to one value."""
    if not path.startswith("$"):
        return None
    found: list[Step] = []
    at = 1
    while at < len(path):
        match = _STEP.match(path, at)
        if match is None:
            return None
        name, index, single, double = match.groups()
        if index is not None:
            found.append(int(index))
        elif name is not None:
            found.append(name)
        else:
            found.append(re.sub(r"\\(.)", r"\1", single if double is None else double))
        at = match.end()
    return found or None


class Pieces:
    """The pieces so far, by path, in the order of their first piece."""

    def __init__(self) -> None:
        self._values: dict[str, list[Any]] = {}
        self.unfinished: dict[str, list[Any]] = {}
        """Those of the values that go on in the next piece of the same path: texts."""
        self.error: str | None = None

    def add(self, piece: Body) -> None:
        """Take one `partialArg`."""
        path = str(piece.get("jsonPath"))
        for key in _VALUES:
            if key in piece:
                value = None if key == "nullValue" else piece[key]
                if path in self.unfinished:
                    self.unfinished[path].append(value)
                else:
                    self._values[path] = [value]
        if piece.get("willContinue"):
            self.unfinished[path] = self._values.setdefault(path, [])
        else:
            self.unfinished.pop(path, None)

    def arguments(self) -> dict[str, Any]:
        """The object they make. What does not fit into one is said in `error`."""
        root: dict[str, Any] = {}
        for path, values in self._values.items():
            way = steps(path)
            value = "".join(values) if all(isinstance(each, str) for each in values) else values[-1]
            if way is None or isinstance(way[0], int) or not _put(root, way, value):
                self.error = f"{path!r} is no place in the arguments"
        return root

    @property
    def text(self) -> str:
        """The object as JSON."""
        return msgspec.json.encode(self.arguments()).decode()


def _put(root: dict[str, Any], way: list[Step], value: Any) -> bool:
    place: Any = root
    for step, after in zip(way, [*way[1:], None], strict=True):
        last = after is None
        fresh: Any = value if last else [] if isinstance(after, int) else {}
        if isinstance(step, int):
            # Arrays fill from their beginning: a model cannot make us allocate a million empty places.
            if not isinstance(place, list) or step > len(fields.arr(place)):
                return False
            held = fields.arr(place)
            if step == len(held):
                held.append(fresh)
            elif last:
                held[step] = value
            place = held[step]
        else:
            if not isinstance(place, dict):
                return False
            members = fields.obj(place)
            if last or step not in members:
                members[step] = fresh
            place = members[step]
    return True
