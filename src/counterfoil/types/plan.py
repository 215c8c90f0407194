"""What is meant to be done, said before anything untrusted is read; and how strictly calls are held to it."""

from __future__ import annotations

from typing import Any, Literal, cast

import msgspec

Mode = Literal["strict", "default", "off"]
"""`strict`: after the first untrusted text every consequential call asks. `default`: the plan and the origins decide;
while there is no plan, as `strict`. `off`: nothing is checked."""


class Pick(msgspec.Struct, frozen=True, omit_defaults=True, forbid_unknown_fields=True):
    """A rule that takes one value from what will be read: data may then fill an argument, and still choose nothing.

    The result is that of the first call of `tool` with exactly these `arguments`. Of its records, those count whose
    fields equal `where` (or have it as whole words), and of these the one with the `most` or `least` of a field. They
    must agree on one value. `take` is the field, a scalar or a list of them (`"*"`: the whole of a result that is one
    value); of a number, `times` and `plus` may follow. No field that an outsider can write text in is ever looked at,
    but for a `link`: the only one in a field, whoever wrote it, and good for nothing but to be fetched.
    """

    tool: str
    arguments: dict[str, Any] = {}
    where: dict[str, Any] = {}
    most: str = ""
    least: str = ""
    take: str = ""
    times: float = 1
    plus: float = 0
    link: bool = False

    def __post_init__(self) -> None:
        names: Any = (self.tool, self.most, self.least, self.take)
        rules: Any = (self.arguments, self.where)
        numbers: Any = (self.times, self.plus)
        if (
            not all(isinstance(each, str) for each in names)
            or not all(_by_name(each) for each in rules)
            or {*map(type, numbers)} - {int, float}
            or type(self.link) is not bool
        ):
            raise TypeError("a Pick is Pick(tool, {argument: value}, where={field: value}, take='field')")
        if not self.tool:
            raise ValueError("a Pick needs the name of a tool")
        if self.most and self.least:
            raise ValueError(f"a Pick takes the most or the least, not both: {self.most!r}, {self.least!r}")
        if not self.take and not self.link:
            raise ValueError(f"Pick({self.tool!r}) does not say what it takes: add take='field'")


class Intent(msgspec.Struct, frozen=True, omit_defaults=True, forbid_unknown_fields=True):
    """One call that is meant. `fixed` arguments may have these values only; `taken` ones what their rule finds.

    `open` ones are filled in later, under the rules on origins; any other that matters is off the plan. A look-up needs
    no intent to run; with one, the record that it finds is the one that was meant, even after a taint.
    """

    tool: str
    fixed: dict[str, Any] = {}
    taken: dict[str, Pick] = {}
    open: tuple[str, ...] = ()
    many: bool = False
    """Whether any number of such calls is meant: once for each thing that is found."""

    def __post_init__(self) -> None:
        tool: Any = self.tool
        taken: Any = self.taken
        names: Any = self.open
        if not isinstance(tool, str) or not tool:
            name = getattr(tool, "name", None)
            raise TypeError(
                f"an Intent begins with the name of a tool, {name or 'pay'!r}, not with {type(tool).__name__}"
            )
        if (
            not _by_name(self.fixed)
            or not _by_name(taken)
            or not isinstance(names, list | tuple)
            or not all(isinstance(each, str) for each in cast("list[Any]", names))
            or {*map(type, cast("dict[str, Any]", taken).values())} - {Pick}
            or type(self.many) is not bool
        ):
            raise TypeError(
                "an Intent is Intent(tool, fixed={argument: value}, taken={argument: Pick(...)}, open=(argument,))"
            )
        left = tuple(cast("list[str]", names))
        twice = (self.fixed.keys() & self.taken.keys()) | ({*self.fixed, *self.taken} & {*left})
        if twice:
            raise ValueError(
                f"Intent({tool!r}) says of {', '.join(sorted(twice))} more than one thing: an argument is fixed, taken "
                "or open"
            )
        msgspec.structs.force_setattr(self, "open", left)


def _by_name(given: Any) -> bool:
    return isinstance(given, dict) and all(isinstance(name, str) for name in cast("dict[object, Any]", given))
