"""What following origins adds to a step, in instructions: the same runs with the check off and on.

Run under callgrind by `benchmarks.workshop`, which reads the counts: 3 runs of 20 steps for each region. `reads`: a
look-up whose text anybody may have written. `writes`: a consequential call whose reply is declared the service's own.
`planned`: one whose reply anybody may have written, so that each call is held against the plan and every rule.
`mixed`: four of five are look-ups, the fifth is such a planned call.
"""

from __future__ import annotations

import asyncio
import ctypes
import gc
import sys
from collections.abc import Sequence

import msgspec

from benchmarks.adapters.counterfoil import CLERK, LIMITS, FakeModel
from benchmarks.measures.child import adapters
from benchmarks.scenario import PROMPT, SYSTEM, Script, record
from counterfoil import Catalogue, Gate, Harness, Intent, Message, Reply, Request, Trust, tool

FIXED = {"path": "/srv/ledger/2024/entry.txt", "count": 3}
PLAN = (Intent("record", FIXED, open=("note",), many=True),)
LOOK_UP = tool(name="look_up", effect="read", permission="record", limits=LIMITS)(record)
WAYS = {
    "reads": (Catalogue([tool(effect="read", limits=LIMITS)(record)]), None),
    "mixed": (Catalogue([LOOK_UP, tool(limits=LIMITS)(record)]), PLAN),
    "writes": (Catalogue([tool(limits=LIMITS, trust=Trust(returns="system"))(record)]), None),
    "planned": (Catalogue([tool(limits=LIMITS)(record)]), PLAN),
}


class Mixed(FakeModel):
    """Looks up four times of five."""

    async def reply(self, request: Request) -> Reply:
        """Say what the script says, of the other tool."""
        reply = await super().reply(request)
        if self.script.done % 5 == 0 or not reply.message.calls:
            return reply
        calls = [msgspec.structs.replace(call, name="look_up") for call in reply.message.calls]
        return Reply(Message("assistant", tuple(calls)), "tool_calls")


async def session(catalogue: Catalogue, plan: Sequence[Intent] | None, gate: Gate, script: Script) -> None:
    """One run to its end: nobody is asked for anything."""
    model = Mixed(script) if "look_up" in catalogue else FakeModel(script)
    harness = Harness(model, catalogue, gate=gate, instructions=SYSTEM)
    run = await harness.run(PROMPT, CLERK, plan=plan)
    assert run.outcome.kind == "answered", run.confirmations


async def main(library: ctypes.CDLL) -> None:
    """Count."""
    gates = {"off": Gate(provenance="off"), "on": Gate()}
    for count in (False, True):  # the first time nothing is counted: caches fill, and Python learns what is hot
        for name, (catalogue, plan) in WAYS.items():
            for who, gate in gates.items():
                scripts = [Script(20) for _ in range(3)]
                gc.collect()
                if count:
                    library.count_on()
                for script in scripts:
                    await session(catalogue, plan, gate, script)
                if count:
                    library.count_off(f"{who}_{name}".encode())


if __name__ == "__main__":
    adapters()
    asyncio.run(main(ctypes.CDLL(sys.argv[1])))
