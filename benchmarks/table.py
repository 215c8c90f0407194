"""The tables: one row per harness, and what only counterfoil is asked for."""

from __future__ import annotations

from typing import Any

from benchmarks.workshop import Results


def _ratio(value: float | None, base: float | None, digits: int = 1) -> str:
    return "" if not value or not base else f" ({value / base:.{digits}f})"


def _number(value: float | None, scale: float = 1, digits: int = 2, unit: str = "") -> str:
    return "-" if value is None else f"{value * scale:,.{digits}f}{unit}"


def _count(value: float | None) -> str:
    if value is None:
        return "-"
    return f"{value / 1e6:.2f}M" if value >= 1e6 else f"{value / 1e3:.0f}k"


def _markdown(head: list[str], rows: list[list[str]]) -> str:
    lines = [head, ["---"] * len(head), *rows]
    return "\n".join("| " + " | ".join(line) + " |" for line in lines)


HEAD = [
    "",
    "import CPU s",
    "MB",
    "modules",
    "distributions",
    "step CPU ms (x bare)",
    "Ir/step (x bare)",
    "16 calls, CPU ms/call (x bare)",
    "Ir/call (x bare)",
    "growth step 200/10, CPU",
    "the same, Ir",
    "200 sessions x 10 steps, CPU s",
    "KB/session",
    "set-up per session, CPU ms",
]


def peers(rows: list[Results]) -> str:
    """The table of all harnesses."""
    return _markdown(HEAD, [_row(each, rows[0]) for each in rows])


def _row(results: Results, floor: Results) -> list[str]:
    found = results["import"] or {}
    cpu: dict[str, Any] = results["cpu"] or {}
    ir: dict[str, Any] = results["instructions"] or {}
    many = results["sessions"] or {}
    version = found.get("version", "")
    own = results is floor
    # CPU beside the bare loop in the same process; instructions are the same in every process.
    bare = {} if own else {key: cpu.get(f"bare_{key}") for key in ("step", "call")}
    bare_ir = {} if own else floor["instructions"] or {}
    early, late = ir.get("early"), ir.get("late")
    return [
        f"{results.peer.name} {version}" if not own else "bare",
        _number(found.get("cpu")),
        _number(found.get("bytes"), 1e-6, 0),
        _number(found.get("modules"), digits=0),
        _number(found.get("distributions"), digits=0),
        _number(cpu.get("step"), 1e3, 3) + _ratio(cpu.get("step"), bare.get("step")),
        _count(ir.get("step")) + _ratio(ir.get("step"), bare_ir.get("step"), 2),
        _number(cpu.get("call"), 1e3, 4) + _ratio(cpu.get("call"), bare.get("call")),
        _count(ir.get("call")) + _ratio(ir.get("call"), bare_ir.get("call"), 2),
        _number(cpu.get("growth")),
        _number(late / early if early and late else None),
        _number(many.get("cpu")),
        _number(many.get("bytes"), 1 / 1024, 0),
        _number(cpu.get("setup"), 1e3, 3),
    ]


PROVENANCE = {
    "reads": "look-ups",
    "mixed": "a planned call after four look-ups",
    "writes": "calls with consequences, nothing untrusted read",
    "planned": "every call held against a plan",
}
"""What `measures.provenance` counts, in words."""


def ours(ours: Results, bare: Results) -> str:
    """What only counterfoil does, or what takes too long for every harness."""
    rows: list[list[str]] = []

    def add(what: str, value: str, target: str = "") -> None:
        rows.append([what, value, target])

    if short := ours["instructions"]:
        alone = {key: (short[key] * times - short["setup"]) / times for key, times in (("step", 20), ("call", 16))}
        floor = {
            key: (short[f"bare_{key}"] * times - short["bare_setup"]) / times
            for key, times in (("step", 20), ("call", 16))
        }
        add("Ir of a run's beginning and end", _count(short["setup"]))
        add("Ir/step without them (x bare)", _count(alone["step"]) + _ratio(alone["step"], floor["step"], 2))
        add("Ir/call of 16 without them (x bare)", _count(alone["call"]) + _ratio(alone["call"], floor["call"], 2))
    if traced := ours["provenance"]:
        for key, what in PROVENANCE.items():
            more = traced[f"on_{key}"] / traced[f"off_{key}"] - 1
            add(f"provenance, {what}: Ir/step more", f"{more:+.1%}", "" if key == "planned" else "<= 15%")
    if long := ours["instructions_long"]:
        add("growth step 5,000/10, Ir", f"{long['late'] / long['early']:.3f}", "<= 1.10")
        add("the same, bare", f"{long['bare_late'] / long['bare_early']:.3f}")
    for results in (ours, bare):
        if live := results["live"]:
            who = results.peer.name
            add(f"10,000 live sessions, {who}: RSS", f"{live['peak'] / 1e6:,.0f} MB", "<= 500 MB")
            add(f"the same, {who}: KB/session", f"{live['bytes'] / 1024:.0f}", "<= 40")
            add(f"the same, {who}: CPU", f"{live['cpu']:.1f} s")
    if kept := ours["journal"]:
        for name, what, per, turn, target in _JOURNAL:
            found = kept[name]
            times = _ratio(found["cpu"], found.get("bare"), 1)
            counted = f"{found['syncs']:.2g} fsyncs" + (
                f", {found['commits']:.2g} commits" if "commits" in found else ""
            )
            add(what, f"{found['cpu'] * 1e6:.1f} us CPU per {per}{times}; {counted} per {turn}", target)
        add("fdatasync of one page by itself", f"{kept['fdatasync'] * 1e6:.0f} us CPU", "the floor of any durable step")
    if streamed := ours["streaming"]:
        for size in ("8750", "35000"):
            fold, harness = streamed[f"fold_{size}"], streamed[f"harness_{size}"]
            what = f"streamed arguments, {int(size):,} bytes by 4"
            target = "<= 1.5 ms" if size == "35000" else "linear"
            add(what, f"{fold * 1e3:.2f} ms CPU to fold, {harness * 1e3:.2f} through Harness.stream", target)
    for kind, what in _WAITING:
        if found := ours[f"waiting_{kind}"]:
            waiting = f"{found['count']:,} sessions waiting, {what}"
            add(f"{waiting}: RSS of a worker", f"{found['rss_more'] / 1e6:+.1f} MB", "<= 10 MB more")
            add("the same: CPU, idle", f"{found['cpu']:.1%} of a core, {found['threads']} threads", "<= 2%")
            late = f"{found['wake_p50'] * 1e3:.0f} ms, p95 {found['wake_p95'] * 1e3:.0f} ms"
            add("the same: from an answer to its being gone on with", late, "p95 <= 250 ms")
    return _markdown(["counterfoil", "", "target"], rows)


_WAITING = [("sqlite", "SQLite"), ("postgres", "Postgres"), ("pgqueuer", "Postgres and PgQueuer")]


_JOURNAL = [
    ("write", "SQLite on disk, write tool: intent + result", "step", "turn", "<= 2.5x"),
    ("read", "SQLite, read tool", "step", "turn", "<= 2.5x, 0 fsyncs"),
    ("write_16", "SQLite, 16 parallel write calls", "call", "turn", "<= 2.5x, 1 fsync"),
    ("read_16", "SQLite, 16 parallel read calls", "call", "turn", "<= 2.5x"),
    ("write_200", "SQLite, write tool, 200 sessions at once", "step", "step", "<= 2.5x"),
    ("read_200", "SQLite, read tool, 200 sessions at once", "step", "step", "<= 2.5x"),
    ("postgres_write", "Postgres, write tool: intent + result", "step", "turn", "<= 1 ms"),
    ("postgres_read", "Postgres, read tool", "step", "turn", "<= 1 ms"),
    ("postgres_write_200", "Postgres, write tool, 200 sessions at once", "step", "step", "<= 1 ms"),
    ("entry_durable", "journal alone: 200 runs commit an entry at a time", "entry", "entry", "<= 5 us"),
    ("entry", "journal alone: 200 runs append an entry at a time", "entry", "entry", "<= 5 us"),
]
