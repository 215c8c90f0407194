"""The gate against regressions: `python -m benchmarks.check` fails when counterfoil costs more than it may.

Instructions and counts do not depend on how busy the machine is; what is in seconds is the best of several. With
`--counts` the seconds are printed and only the counts can fail: for machines whose speed nobody knows.
"""

from __future__ import annotations

import sys
from typing import NamedTuple

from benchmarks import workshop
from benchmarks.peers import OURS
from benchmarks.table import PROVENANCE
from benchmarks.workshop import Results, say


class Limit(NamedTuple):
    """One ceiling, and what was found."""

    what: str
    most: float
    found: float
    unit: str = ""

    @property
    def seconds(self) -> bool:
        """Whether it depends on how fast the machine is."""
        return self.unit in (" s", " ms")

    @property
    def kept(self) -> bool:
        """Whether it holds."""
        return self.found <= self.most

    def __str__(self) -> str:
        sign = "ok  " if self.kept else "OVER"
        return f"{sign} {self.what}: {self.found:.4g}{self.unit}, at most {self.most:g}{self.unit}"


def limits(results: Results, *, counted: bool) -> list[Limit]:
    """Every ceiling, beside what was measured."""
    imports, cpu = results["import"], results["cpu"]
    found = [
        Limit("modules after the import", 250, imports["modules"]),
        Limit("distributions beside counterfoil", 5, imports["distributions"] - 1),
        Limit("CPU of the import", 0.10, imports["cpu"], " s"),
        Limit("CPU of a session's set-up", 0.1, cpu["setup"] * 1e3, " ms"),
    ]
    if counted:
        short, long, traced = results["instructions"], results["instructions_long"], results["provenance"]
        found += [
            Limit("instructions of a step", 1.5, short["step"] / short["bare_step"], "x bare"),
            Limit("instructions of one of 16 parallel calls", 1.5, short["call"] / short["bare_call"], "x bare"),
            Limit("growth of instructions, step 200 / step 10", 1.03, short["late"] / short["early"]),
            Limit("growth of instructions, step 5,000 / step 10", 1.10, long["late"] / long["early"]),
        ]
        for key, what in PROVENANCE.items():
            most = 1.5 if key == "planned" else 1.15  # nobody has a run in which every call is a planned one
            times = traced[f"on_{key}"] / traced[f"off_{key}"]
            found.append(Limit(f"instructions of a step with provenance, {what}", most, times, "x without"))
    return found


def main() -> int:
    """Run the command."""
    results = Results(OURS, again=True)
    results.add("import", workshop.imports)
    results.add("cpu", workshop.cpu)
    if missing := workshop.no_callgrind():
        say(f"SKIPPED, instructions: {missing}")
    else:
        results.add("instructions", workshop.instructions(200))
        results.add("instructions_long", workshop.instructions(5_000))
        results.add("provenance", workshop.provenance)
    asked = ["import", "cpu"] + ([] if missing else ["instructions", "instructions_long", "provenance"])
    if failed := [name for name in asked if results[name] is None]:
        say(f"could not be measured: {', '.join(failed)}")
        return 2
    found = limits(results, counted=missing is None)
    sys.stdout.write("\n".join(map(str, found)) + "\n")
    held = [limit for limit in found if not (limit.seconds and "--counts" in sys.argv[1:])]
    return 0 if all(limit.kept for limit in held) else 1


if __name__ == "__main__":
    sys.exit(main())
