"""The rows of a run added up: tables, and what is worth saying below them."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import msgspec

from counterfoil.cli.output import Output
from evals.bfcl.record import Row

SHOWN = 6


class Sum(msgspec.Struct):
    """Counts over some rows."""

    cases: int = 0
    right: int = 0
    with_calls: int = 0
    conform: int = 0
    broken: int = 0
    unsayable: int = 0
    unsayable_fitting: int = 0
    """Those of which the calls did fit their own schemas: nobody but the format is to blame."""
    changed: int = 0
    truth: int = 0
    wrong: int = 0
    """Not right, and none of the three before."""
    seconds: float = 0.0

    def add(self, row: Row) -> None:
        """Count a row."""
        self.cases += 1
        self.right += row.valid and row.kind != "changed"
        self.with_calls += row.conforms is not None
        self.conform += row.conforms is True
        self.broken += bool(row.broken)
        self.unsayable += row.kind == "unsayable"
        self.unsayable_fitting += row.kind == "unsayable" and row.conforms is not False
        self.changed += row.kind == "changed"
        self.truth += row.kind == "truth"
        self.wrong += not row.valid and row.kind not in ("unsayable", "changed", "truth")
        self.seconds += row.seconds


Sums = dict[tuple[str, str], Sum]


def add_up(rows: Iterable[Row]) -> Sums:
    """Sums by way and category; a category's name is `all` for their total."""
    sums: Sums = {}
    for row in rows:
        for category in (row.category, "all"):
            sums.setdefault((row.way, category), Sum()).add(row)
    return sums


def of_oracle(out: Output, rows: Sequence[Row], ways: Sequence[str]) -> bool:
    """Tell what became of the right calls; returns whether nothing was lost."""
    sums = add_up(rows)
    table: list[list[str]] = []
    for way in ways:
        each = sums.get((way, "all"), Sum())
        held = each.cases - each.truth - each.unsayable
        table.append(
            [way, str(each.cases), str(each.right), _share(each.right, held), str(each.truth), str(each.unsayable),
             str(each.changed + each.wrong)]
        )  # fmt: skip
        out.data({"way": way, **msgspec.to_builtins(each)})
    out.table(["through", "cases", "right", "of those it can say", "truth refused", "unsayable", "lost"], table)
    own = sorted({row.id for row in rows if row.kind == "truth"})
    if own:
        out.say(("\nBFCL's checker refuses its own ground truth of: ", "dim"), _some(own))
    for blame, told in ((False, "against its own schema, so that it cannot be said everywhere"), (True, "unsayable")):
        found = [row for row in rows if row.kind == "unsayable" and (row.conforms is not False) == blame]
        if found:
            out.say((f"\n{told}: ", "dim"), _some(sorted({row.id for row in found})))
        if blame:
            for row in found[:SHOWN]:
                out.say(f"{row.way}  {row.id}  {row.error}", indent=2)
    lost = [row for row in rows if row.kind == "changed" or (not row.valid and row.kind not in ("truth", "unsayable"))]
    for row in lost[:SHOWN]:
        out.say(("lost  ", "red"), f"{row.way}  {row.id}  {row.error}")
    return not lost


def of_model(out: Output, rows: Sequence[Row], ways: Sequence[str], categories: Sequence[str]) -> None:
    """Tell how good a model is, by category and by the way it was asked."""
    sums = add_up(rows)
    head = ["category", "cases"]
    for way in ways:
        head += [f"{way}: right", "calls conform", "s a case"]
    table: list[list[str]] = []
    for category in [*categories, "all"]:
        line = [category, str(max(sums.get((way, category), Sum()).cases for way in ways))]
        for way in ways:
            each = sums.get((way, category), Sum())
            line += [
                f"{each.right} ({_share(each.right, each.cases)})",
                (f"{each.conform} of {each.with_calls}" if each.with_calls else "none written")
                + (f", {each.broken} cut off" if each.broken else ""),
                f"{each.seconds / each.cases:.2f}" if each.cases else "",
            ]
            counts = {name: getattr(each, name) for name in ("cases", "right", "with_calls", "conform", "broken")}
            out.data({"category": category, "way": way, **counts, "seconds": round(each.seconds, 3)})
        table.append(line)
    out.table(head, table)


def _share(part: int, whole: int) -> str:
    if not whole:
        return "-"
    return "100 %" if part == whole else f"{100 * part / whole:.1f} %"


def _some(ids: Sequence[str]) -> str:
    more = f" and {len(ids) - SHOWN} more" if len(ids) > SHOWN else ""
    return ", ".join(ids[:SHOWN]) + more
