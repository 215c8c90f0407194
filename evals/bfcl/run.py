"""Ask about every case, let BFCL's checker judge what was answered, and keep it."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence

import anyio
import msgspec

from counterfoil.types.error import ContextOverflow, CounterfoilError
from counterfoil.types.request import Request, Sampling, ToolChoice
from evals.bfcl.data import Bench, Calls, Case, Verdict
from evals.bfcl.declared import Declared, declare
from evals.bfcl.lowered import Unsayable
from evals.bfcl.models import Asked
from evals.bfcl.oracle import answer
from evals.bfcl.record import Record, Row, digest
from evals.bfcl.through import Changed, Way, same

Tick = Callable[[str, float], None]
_SHOWN = 500


def oracle(bench: Bench, cases: Sequence[Case], ways: Sequence[Way], record: Record, tick: Tick) -> tuple[str, ...]:
    """Send every case's right calls every way. Returns what of the declarations could not be said."""
    notes: dict[str, None] = {}
    for number, case in enumerate(cases):
        tick(f"{case.category.name}  {number}/{len(cases)}", number / len(cases))
        declared = declare(case)
        notes |= dict.fromkeys(declared.notes)
        prompt = digest(case.messages, declared.specs)
        missing = [way for way in ways if not record.has(way.name, case.id, prompt)]
        if not missing:
            continue
        calls = answer(bench, case, declared)
        own = bench.judge(case, calls)
        fits = conform(declared, calls)
        for way in missing:
            row = take(bench, case, declared, calls, own, way)
            record.add(msgspec.structs.replace(row, prompt=prompt, conforms=fits))
    return tuple(notes)


def take(bench: Bench, case: Case, declared: Declared, calls: Calls, own: Verdict, way: Way) -> Row:
    """Send calls one way. The row's `kind`: `unsayable`, the format has no words for them and says so; `changed`, they
    are not what they were, which is a fault of ours; `truth`, the checker refuses the ground truth itself.
    """
    began = time.perf_counter()
    row = Row(case.id, case.category.name, way.name, "", [], False)
    try:
        back = way.take(calls, case.messages, declared.specs)
    except Unsayable as why:
        return msgspec.structs.replace(row, error=str(why), kind="unsayable")
    except (Changed, CounterfoilError, ValueError) as why:
        return msgspec.structs.replace(row, error=f"{type(why).__name__}: {why}", kind="changed")
    seconds = round(time.perf_counter() - began, 6)
    verdict = bench.judge(case, back)
    kind, error = verdict.kind, verdict.error
    if not same(calls, back):
        kind, error = "changed", f"written: {calls}. {error}"
    elif not verdict.valid and not own.valid:
        kind = "truth"
    return msgspec.structs.replace(row, calls=back, valid=verdict.valid, error=error, kind=kind, seconds=seconds)


def model(
    bench: Bench,
    cases: Sequence[Case],
    asked: Sequence[Asked],
    record: Record,
    choice: ToolChoice,
    sampling: Sampling,
    tick: Tick,
) -> tuple[str, ...]:
    """Ask a model every case, each way. Raises `ModelError`; what was answered until then is kept."""

    async def all_of_them() -> tuple[str, ...]:
        notes: dict[str, None] = {}
        for number, case in enumerate(cases):
            declared = declare(case)
            notes |= dict.fromkeys(declared.notes)
            prompt = digest(case.messages, declared.specs)
            for one in asked:
                tick(f"{case.category.name}  {number}/{len(cases)}  {one.way}", number / len(cases))
                if not record.has(one.way, case.id, prompt):
                    request = Request(case.messages, declared.specs, choice, sampling=sampling)
                    record.add(msgspec.structs.replace(await _ask(bench, case, declared, one, request), prompt=prompt))
        return tuple(notes)

    return anyio.run(all_of_them)


async def _ask(bench: Bench, case: Case, declared: Declared, asked: Asked, request: Request) -> Row:
    began = time.perf_counter()
    row = Row(case.id, case.category.name, asked.way, "", [], False)
    try:
        said = await asked.ask(request)
    except ContextOverflow as error:
        return msgspec.structs.replace(row, error=str(error), kind="overflow")
    seconds = round(time.perf_counter() - began, 3)
    if said.broken and case.category.wanted == "calls":
        verdict = Verdict(False, said.broken, "broken")
    else:
        verdict = bench.judge(case, said.calls)
    return msgspec.structs.replace(
        row,
        calls=said.calls,
        valid=verdict.valid,
        error=verdict.error,
        kind=verdict.kind,
        conforms=conform(declared, said.calls),
        broken=said.broken,
        seconds=seconds,
        text=said.text[:_SHOWN],
    )


def conform(declared: Declared, calls: Calls) -> bool | None:
    """Whether every call is of a tool that there is, with arguments that its schema takes; `None` without calls."""
    if not calls:
        return None
    tools = declared.catalogue
    return all((tool := tools.get(name)) is not None and tool.accepts(arguments) for name, arguments in calls)
