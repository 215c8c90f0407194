"""Measure the local models on the order desk's own requests, and print the table.

    python -m evals.local_demo.run [smollm2] [needle] [PATH.gguf] [--held-out] [--plain] [--threads 1] [--show]

Greedy decoding, one request after another, a fresh conversation each. *exact*: the calls wanted and no others, in
order. *right tools*: the same, whatever the arguments. *off-topic*: no call where none was wanted.
"""

from __future__ import annotations

import argparse
import sys
import time
from collections.abc import Sequence
from typing import Any

import anyio
import jsonschema_rs

from counterfoil.models.local import PLAIN, load
from counterfoil.models.model import Model
from counterfoil.types.message import ToolCall, user
from counterfoil.types.request import Request
from evals.local_demo.cases import CASES, TOOLS, Call
from evals.local_demo.held_out import HELD_OUT

PROSE = frozenset({"reason", "text"})
"""Arguments of which the first words and the ending may differ: people disagree on where a reason begins."""


def same(got: Sequence[ToolCall], wanted: Sequence[Call]) -> bool:
    """Whether calls are those wanted. Case does not count; prose arguments may be part of the wanted words."""
    if [call.name for call in got] != [name for name, _ in wanted]:
        return False
    return all(_same(call.arguments or {}, arguments) for call, (_, arguments) in zip(got, wanted, strict=True))


def _same(got: dict[str, Any], wanted: dict[str, Any]) -> bool:
    return got.keys() == wanted.keys() and all(_alike(name, got[name], wanted[name]) for name in wanted)


def _alike(name: str, got: Any, wanted: Any) -> bool:
    if isinstance(wanted, str) and isinstance(got, str):
        first, second = got.casefold().strip(" ."), wanted.casefold().strip(" .")
        if name in PROSE:
            shorter, longer = sorted((first, second), key=len)
            return shorter in longer and len(shorter) * 2 >= len(longer)
        return first == second
    return bool(got == wanted)


def conforms(call: ToolCall) -> bool:
    """Whether a call's arguments conform to its tool's schema."""
    schema = next(tool.parameters for tool in TOOLS if tool.name == call.name)
    return jsonschema_rs.is_valid(schema, call.arguments)


async def measure(model: Model, cases: Sequence[tuple[str, tuple[Call, ...]]], show: bool) -> dict[str, Any]:
    """Ask every question; return the counts and the median seconds."""
    counts = {"calls": 0, "conform": 0, "relevant": 0, "exact": 0, "tools": 0, "off_topic": 0, "refused": 0}
    seconds: list[float] = []
    for asked, wanted in cases:
        began = time.perf_counter()
        reply = await model.reply(Request((user(asked),), TOOLS))
        seconds.append(time.perf_counter() - began)
        got = reply.message.calls
        good = same(got, wanted)
        counts["calls"] += len(got)
        counts["conform"] += sum(conforms(call) for call in got)
        if wanted:
            counts["relevant"] += 1
            counts["exact"] += good
            counts["tools"] += [call.name for call in got] == [name for name, _ in wanted]
        else:
            counts["off_topic"] += 1
            counts["refused"] += good
        if show:
            said = [(call.name, call.arguments) for call in got] or reply.message.text
            _say(f"{'ok ' if good else 'NOT'} {seconds[-1]:5.2f} s  {asked}  ->  {said}")
    return {**counts, "median": sorted(seconds)[len(seconds) // 2], "most": max(seconds)}


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("models", nargs="*", default=["smollm2", "needle"])
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--plain", action="store_true", help="the constraint alone, without the help of a policy")
    parser.add_argument("--held-out", action="store_true", help="only the requests that no choice was made by")
    parser.add_argument("--show", action="store_true", help="print every request and what came of it")
    options = parser.parse_args()
    cases = HELD_OUT if options.held_out else CASES
    rows: list[str] = []
    for name in options.models:
        began = time.perf_counter()
        with load(name, threads=options.threads, policy=PLAIN if options.plain else None) as model:
            loading = time.perf_counter() - began
            found = anyio.run(measure, model, cases, options.show)
        rows.append(
            f"| {model.name} | {found['conform']}/{found['calls']} | {found['exact']}/{found['relevant']} "
            f"| {found['tools']}/{found['relevant']} | {found['refused']}/{found['off_topic']} "
            f"| {found['median']:.2f} | {found['most']:.2f} | {loading:.2f} |"
        )
    _say("| model | calls that conform | exact | right tools | off-topic refused | median s | most s | load s |")
    _say("|---|---|---|---|---|---|---|---|")
    for row in rows:
        _say(row)


def _say(text: str) -> None:
    sys.stdout.write(text + "\n")
    sys.stdout.flush()


if __name__ == "__main__":
    main()
