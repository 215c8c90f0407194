"""The benchmarks themselves: that what they measure does the work, and that the gate notices."""

import asyncio
from pathlib import Path
from typing import Any

import pytest
from benchmarks import check, scenario, table, workshop
from benchmarks.adapters import bare, counterfoil
from benchmarks.peers import BARE, OURS
from benchmarks.scenario import FINAL, Script
from benchmarks.workshop import Results

GOOD: dict[str, Any] = {
    "import": {"cpu": 0.08, "modules": 236, "distributions": 6, "bytes": 18e6, "version": "0.1.0"},
    "cpu": {"step": 3e-5, "bare_step": 2e-5, "call": 1e-5, "bare_call": 1e-5, "setup": 5e-5, "growth": 1.0},
    "instructions": {
        "step": 180e3,
        "call": 105e3,
        "setup": 130e3,
        "early": 170e3,
        "late": 171e3,
        "bare_step": 135e3,
        "bare_call": 71e3,
        "bare_setup": 15e3,
        "bare_early": 136e3,
        "bare_late": 136e3,
    },
    "instructions_long": {"early": 170e3, "late": 172e3, "bare_early": 136e3, "bare_late": 136e3},
    "provenance": {
        f"{who}_{region}": 190e3 for who in ("on", "off") for region in ("reads", "mixed", "writes", "planned")
    },
}


@pytest.fixture
def results(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Results:
    monkeypatch.setattr(workshop, "WORK", tmp_path)
    found = Results(OURS, again=True)
    found.known = {name: dict(values) for name, values in GOOD.items()}
    return found


@pytest.mark.parametrize("adapter", [bare, counterfoil])
@pytest.mark.parametrize("width", [1, 16])
def test_the_adapters_do_the_same_work(adapter: Any, width: int) -> None:
    script, before = Script(3, width), scenario.ran
    assert asyncio.run(adapter.session()(script)) == FINAL
    assert scenario.ran - before == 3 * width
    assert len(script.stamps) == 4


@pytest.mark.parametrize(
    ("measure", "name", "value"),
    [
        ("import", "modules", 251),
        ("import", "distributions", 7),
        ("import", "cpu", 0.11),
        ("cpu", "setup", 2e-4),
        ("instructions", "step", 135e3 * 1.51),
        ("instructions", "call", 71e3 * 1.51),
        ("instructions", "late", 170e3 * 1.04),
        ("instructions_long", "late", 170e3 * 1.11),
        ("provenance", "on_mixed", 190e3 * 1.16),
    ],
)
def test_the_gate_notices(results: Results, measure: str, name: str, value: float) -> None:
    assert all(limit.kept for limit in check.limits(results, counted=True))
    results.known[measure][name] = value
    over = [limit for limit in check.limits(results, counted=True) if not limit.kept]
    assert len(over) == 1
    assert str(over[0]).startswith("OVER")


def test_without_valgrind_it_says_so(monkeypatch: pytest.MonkeyPatch, results: Results) -> None:
    monkeypatch.setenv("PATH", "")
    assert "valgrind is not installed" in (workshop.no_callgrind() or "")
    assert len(check.limits(results, counted=False)) == 4


def test_results_are_kept_and_used_again(results: Results, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(workshop, "python", lambda peer: Path("python"))
    measured: list[str] = []

    def measure(peer: Any) -> dict[str, float]:
        measured.append(peer.name)
        return {"cpu": 1.0}

    results.add("sessions", measure)
    results.add("sessions", measure)
    assert Results(OURS, again=False)["sessions"] == {"cpu": 1.0}
    assert measured == ["counterfoil"]


def test_what_is_not_known_is_a_dash(results: Results) -> None:
    rows = table.peers([Results(BARE, again=True), results]).splitlines()
    assert rows[2].startswith("| bare | - |")
    assert "| 0.030 (1.5) |" in rows[3]
    assert "growth step 5,000/10, Ir | 1.012" in table.ours(results, Results(BARE, again=True))
    assert "waiting" not in table.ours(results, Results(BARE, again=True))
    waiting = {"count": 10_000, "rss_more": 13e5, "cpu": 0.003, "threads": 2, "wake_p50": 0.1, "wake_p95": 0.13}
    results.known["waiting_sqlite"] = waiting
    shown = table.ours(results, Results(BARE, again=True))
    assert "| 10,000 sessions waiting, SQLite: RSS of a worker | +1.3 MB | <= 10 MB more |" in shown
    assert "| 0.3% of a core, 2 threads | <= 2% |" in shown
    assert "| 100 ms, p95 130 ms | p95 <= 250 ms |" in shown
