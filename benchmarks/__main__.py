"""`python -m benchmarks`: set up what is missing, measure what is not known, and print the tables."""

from __future__ import annotations

import argparse
import platform
import sys
from datetime import UTC, datetime

from benchmarks import table, workshop
from benchmarks.peers import BARE, OURS, PEERS, Peer
from benchmarks.workshop import Results, say


def main() -> int:
    """Run the command."""
    names = ", ".join(peer.name for peer in PEERS)
    parser = argparse.ArgumentParser(
        prog="scripts/bench",
        description="Compare what a step, a call and a session cost in counterfoil and other harnesses.",
        epilog="Results of peers are kept in bench-work/ and used again; counterfoil and the bare loop are always "
        "measured anew.",
    )
    parser.add_argument("--peers", default="all", metavar="all|none|NAME,...", help=f"which peers: {names}")
    parser.add_argument("--again", action="store_true", help="measure the peers anew too")
    parser.add_argument("--quick", action="store_true", help="counterfoil and bare only, under a minute")
    parser.add_argument("--report", action="store_true", help="measure nothing: print what is known")
    options = parser.parse_args()
    chosen = _chosen("none" if options.quick else options.peers)
    if chosen is None:
        parser.error(f"--peers takes all, none, or some of: {names}")
    counting = workshop.no_callgrind()
    if counting:
        say(counting)
    everyone = [Results(peer, again=not options.report) for peer in (BARE, OURS)]
    everyone += [Results(peer, again=options.again) for peer in chosen]
    for number, each in enumerate(everyone, 1):
        if not options.report:
            say(f"[{number}/{len(everyone)}] {each.peer.name}")
            measure(each, count=counting is None, quick=options.quick)
    sys.stdout.write(f"{datetime.now(UTC).date()}, Python {platform.python_version()}, {platform.machine()}\n\n")
    sys.stdout.write(table.peers(everyone) + "\n\n" + table.ours(everyone[1], everyone[0]) + "\n")
    return 0


def measure(results: Results, *, count: bool, quick: bool) -> None:
    """Everything that is asked of one harness."""
    results.add("import", workshop.imports)
    results.add("cpu", workshop.cpu)
    if count:
        results.add("instructions", workshop.instructions(200))
        if results.peer is OURS:
            results.add("provenance", workshop.provenance)
    if quick:
        return
    results.add("sessions", workshop.sessions(200))
    if results.peer in (BARE, OURS):
        results.add("live", workshop.sessions(10_000))
    if results.peer is OURS:
        results.add("journal", workshop.journal)
        results.add("streaming", workshop.streaming)
        for kind in ("sqlite", "postgres", "pgqueuer"):
            results.add(f"waiting_{kind}", workshop.waiting(kind))
        if count:
            results.add("instructions_long", workshop.instructions(5_000))


def _chosen(given: str) -> list[Peer] | None:
    if given in ("all", "none"):
        return list(PEERS) if given == "all" else []
    wanted = [name.strip().replace("-", "_") for name in given.split(",")]
    by_name = {peer.name: peer for peer in PEERS}
    return [by_name[name] for name in wanted] if all(name in by_name for name in wanted) else None


if __name__ == "__main__":
    sys.exit(main())
