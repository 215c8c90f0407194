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
    must agree on one value. `take` is the field, a scalar or a list of them; of a number, `times` and `plus` may
    follow. No field that an outsider can write text in is ever looked at, but for a `link`: the only one in a field,
    whoever wrote it, and good for nothing but to be fetched.
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
        given: Any = (self.arguments, self.where, self.take)
        if [type(each) for each in given] != [dict, dict, str]:
            raise TypeError("a Pick is Pick(tool, {argument: value}, where={field: value}, take='field')")


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
        fixed: Any = self.fixed
        taken: Any = self.taken
        names: Any = self.open
        if (
            not isinstance(fixed, dict)
            or not isinstance(taken, dict)
            or isinstance(names, str)
            or {*map(type, cast("dict[str, Any]", taken).values())} - {Pick}
        ):
            raise TypeError(
                "an Intent is Intent(tool, fixed={argument: value}, taken={argument: Pick(...)}, open=(argument,))"
            )
