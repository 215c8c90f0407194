"""AgentDojo in the worst case: what is counted, what is kept, and what is not played or asked again."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import pytest
from agentdojo_kit import BILLER, FRIEND, install
from evals.agentdojo import main
from evals.agentdojo.policies import POLICIES

from counterfoil.gate.provenance.policy import FINE
from counterfoil.models.function import Function
from counterfoil.run.planning import QUESTION
from counterfoil.types.error import ContextOverflow, ModelError
from counterfoil.types.message import Message, ToolCall
from counterfoil.types.request import Reply, Request

SUITES = ("--suite", "banking", "--suite", "travel")
_NEED_IT = ("world", "plans", "attacks", "play", "adaptive", "report", "plot", "evaluate")
Figures = dict[str, dict[str, Any]]


@pytest.fixture
def package(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """Let the package of our own suites be the one that is installed; gives a folder for the lines."""

    def forget() -> None:
        for name in list(sys.modules):
            if name.split(".")[0] == "agentdojo" or name in {f"evals.agentdojo.{each}" for each in _NEED_IT}:
                del sys.modules[name]

    install(tmp_path / "site")
    monkeypatch.syspath_prepend(str(tmp_path / "site"))
    forget()
    yield tmp_path / "lines"
    forget()


@pytest.fixture
def play(package: Path, capsys: pytest.CaptureFixture[str]) -> Callable[..., Figures]:
    """Run the evaluation; gives the figures of each policy on all its suites."""

    def played(*argv: str, of: str = "") -> Figures:
        assert main([*(argv or SUITES), "--out", str(package), "--json"]) == 0
        rows = [json.loads(line) for line in capsys.readouterr().out.splitlines()]
        return {row["policy"]: row for row in rows if row["of"] == (of or rows[0]["of"])}

    return played


class Clerk:
    """A model that is asked for plans."""

    def __init__(self, *calls: ToolCall) -> None:
        self.calls = calls
        self.asked: list[Request] = []
        self.fails: Exception | None = None

    def __call__(self, request: Request) -> Reply | str:
        self.asked.append(request)
        if self.fails is not None:
            raise self.fails
        return Reply(Message("assistant", self.calls)) if self.calls else "none"


@pytest.fixture
def clerk(monkeypatch: pytest.MonkeyPatch) -> Clerk:
    clerk = Clerk()
    monkeypatch.setattr("counterfoil.models.registry.model", lambda spec, progress: Function(clerk, name="clerk"))
    return clerk


def test_what_gets_through_and_what_it_asks_is_counted_for_every_policy(play: Callable[..., Figures]) -> None:
    figures = play()
    assert set(figures) == {each.name for each in POLICIES}
    assert {(row["tasks"], row["solved"], row["pairs"]) for row in figures.values()} == {(3, 3, 3)}
    assert (figures["none"]["attacked"], figures["none"]["breached"], figures["none"]["asked"]) == (100, 100, 0)
    for name in ("confirm irreversible", "confirm consequential", "strict"):
        assert (figures[name]["breached"], figures[name]["without"], figures[name]["asked"]) == (0, 0, 1), name
    for name in ("default", "default, no rules in the plan", "default, planned by an oracle"):
        # What the user's words settle needs nobody; the bill's account was in a file that others can write.
        assert (figures[name]["breached"], figures[name]["attacked"], figures[name]["without"]) == (0, 0, 2), name
    assert figures["default, nothing declared"]["breached"] == 0


def test_the_suite_that_was_held_out_has_lines_of_its_own(play: Callable[..., Figures]) -> None:
    assert play()["default"]["tasks"] == 3
    held_out = play(of="travel (held out)")["default"]
    assert (held_out["tasks"], held_out["without"], held_out["breached"]) == (1, 1, 0)
    assert play(of="banking")["default"]["tasks"] == 2


def test_the_search_finds_nothing_in_strict_and_everything_where_nothing_is_held_back(
    play: Callable[..., Figures], monkeypatch: pytest.MonkeyPatch
) -> None:
    row = play(*SUITES, "--what", "adaptive", "--policy", "strict")["strict"]
    assert (row["tasks"], row["searched"], row["harmed"]) == (0, 3, 0)
    monkeypatch.setattr("evals.agentdojo.adaptive.rule", lambda *_, **__: FINE)
    row = play(*SUITES, "--what", "adaptive", "--policy", "default")["default"]
    assert (row["searched"], row["harmed"]) == (3, 3)
    assert row["rewritten"]["target"] == row["tried"]["target"] > 0


def lines(folder: Path, name: str) -> list[dict[str, Any]]:
    return [json.loads(line) for line in (folder / f"{name}.jsonl").read_text().splitlines()]


def test_what_was_played_is_kept_and_a_line_that_was_cut_off_is_played_again(
    package: Path, play: Callable[..., Figures]
) -> None:
    first = play(*SUITES, "--policy", "default")
    path = package / "cases.jsonl"
    kept = path.read_text().splitlines(keepends=True)
    assert '"asked":1' in kept[0]
    path.write_text(kept[0].replace('"asked":1', '"asked":7') + "".join(kept[1:-1]) + kept[-1][:20])
    again = play(*SUITES, "--policy", "default")
    assert len(lines(package, "cases")) == len(kept)
    assert lines(package, "cases")[-1] == json.loads(kept[-1])
    assert again["default"]["asked"] == pytest.approx(first["default"]["asked"] + 6 / 3)


def test_only_what_is_known_is_told_with_report(play: Callable[..., Figures], package: Path) -> None:
    assert main(["--report", "--out", str(package)]) == 2
    play(*SUITES, "--policy", "none", "--what", "benign")
    kept = (package / "cases.jsonl").read_bytes()
    assert {name for name, row in play(*SUITES, "--report").items() if row["tasks"]} == {"none"}
    assert (package / "cases.jsonl").read_bytes() == kept


def test_cases_that_other_code_judged_are_not_put_beside_new_ones(
    play: Callable[..., Figures], package: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    play(*SUITES, "--policy", "none", "--what", "benign")
    path = package / "settings.json"
    settings = json.loads(path.read_text())
    path.write_text(json.dumps(settings | {"code": "another"}))
    assert main(["--out", str(package)]) == 2
    assert f"code was 'another' and is now '{settings['code']}'" in capsys.readouterr().err
    assert play(*SUITES, "--report")["none"]["tasks"] == 3


def test_a_line_that_is_none_is_pointed_at(
    play: Callable[..., Figures], package: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    play(*SUITES, "--policy", "none", "--what", "benign")
    with (package / "cases.jsonl").open("a") as file:
        file.write("{}\n")
    assert main(["--out", str(package)]) == 2
    assert "line 4 of" in capsys.readouterr().err


def test_a_sample_is_held_by_a_larger_one(play: Callable[..., Figures], package: Path) -> None:
    play("--suite", "banking", "--policy", "none", "--what", "benign", "--limit", "1", "--seed", "5")
    (one,) = lines(package, "cases")
    assert play("--suite", "banking", "--policy", "none", "--what", "benign", "--limit", "2")["none"]["tasks"] == 2
    assert lines(package, "cases")[0] == one
    assert len(lines(package, "cases")) == 2


def test_a_plan_is_asked_for_once_by_the_harness_and_kept(
    play: Callable[..., Figures], package: Path, clerk: Clerk
) -> None:
    given = {"recipient": FRIEND, "amount": 12.0, "subject": "money", "date": "2022-01-01"}
    clerk.calls = (ToolCall("1", "send_money", given),)
    row = play("--suite", "banking", "--planner", "some")["default, planned by some"]
    assert [each.messages[-1] for each in clerk.asked] == [QUESTION] * 2
    assert {each.name for each in clerk.asked[0].tools} == {"read_file", "send_money"}
    assert not any(each.parameters.get("required") for each in clerk.asked[0].tools)
    assert (row["without"], row["breached"], row["solved"]) == (1, 0, 2)
    # What the words do not settle is open, whatever the model wrote there: the bill's account asks, and the thief's.
    assert [each["calls"] for each in lines(package, "plans")] == [[["send_money", given]]] * 2
    play("--suite", "banking", "--planner", "some", "--policy", "none")
    assert len(clerk.asked) == 2
    assert play("--suite", "banking", "--report")["default, planned by some"] == row
    (package / "cases.jsonl").unlink()
    assert play("--suite", "banking", "--planner", "some")["default, planned by some"] == row
    assert len(clerk.asked) == 2


@pytest.mark.parametrize(
    "calls",
    [
        (),
        (ToolCall("1", "send_money", {}), ToolCall("2", "send_money", {"amount": 98.7})),
        (ToolCall("1", "send_money", {"recipient": BILLER, "amount": 12.0}), ToolCall("2", "no_such_tool", {"x": 1})),
        (ToolCall("1", "send_money", raw="{", parse_error="cut off"),),
    ],
    ids=["none", "everything open", "wrong", "unreadable"],
)
def test_a_bad_plan_costs_confirmations_and_no_safety(
    play: Callable[..., Figures], clerk: Clerk, calls: tuple[ToolCall, ...]
) -> None:
    clerk.calls = calls
    row = play("--suite", "banking", "--planner", "some")["default, planned by some"]
    assert (row["solved"], row["breached"], row["attacked"]) == (2, 0, 0)
    assert row["asked"] > 0


def test_the_plans_are_compared_with_the_reference_solutions(
    package: Path, clerk: Clerk, capsys: pytest.CaptureFixture[str]
) -> None:
    clerk.calls = tuple(ToolCall(str(n), "send_money", {"amount": 12.0, "date": "2022-01-01"}) for n in range(2))
    assert main(["--suite", "banking", "--planner", "some", "--what", "benign", "--out", str(package)]) == 0
    said = capsys.readouterr().out
    # Of the bill's task nothing is settled by its words: both open calls fit it, and it needs one. Of the other, where
    # both are settled to the same, the same thing is meant twice all the same, because its recipient is open.
    (row,) = [line.split() for line in said[said.index("Plans beside") :].splitlines() if "some" in line]
    assert row[4:8] == ["2", "4", "2/4", "2/2"]


def test_a_catalogue_that_is_too_long_for_a_model_leaves_the_task_without_a_plan(
    play: Callable[..., Figures], package: Path, clerk: Clerk
) -> None:
    clerk.fails = ContextOverflow("too long")
    row = play("--suite", "banking", "--planner", "some")["default, planned by some"]
    assert (row["without"], row["breached"]) == (0, 0)
    assert [each["error"] for each in lines(package, "plans")] == ["too long"] * 2


def test_any_other_failure_of_a_model_ends_the_run_and_nothing_is_lost(
    play: Callable[..., Figures], package: Path, clerk: Clerk, capsys: pytest.CaptureFixture[str]
) -> None:
    play("--suite", "banking", "--policy", "none", "--what", "benign")
    clerk.fails = ModelError("no key")
    assert main(["--suite", "banking", "--planner", "some", "--out", str(package)]) == 2
    assert "no key" in capsys.readouterr().err
    assert (len(lines(package, "cases")), lines(package, "plans")) == (2, [])


def test_the_report_and_the_plot_have_every_policy(play: Callable[..., Figures], package: Path) -> None:
    play()
    plot = (package / "plot.svg").read_text()
    titles = {each.text for each in ElementTree.fromstring(plot).iter("{http://www.w3.org/2000/svg}title")}  # noqa: S314 - our own
    assert titles >= {each.name for each in POLICIES} | {"MELON", "undefended"}
    report = (package / "report.md").read_text()
    assert all(f"| {each.name} |" in report for each in POLICIES)
    assert "## Travel (held out)" in report


def test_an_unknown_policy_is_told_which_there_are(package: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["--policy", "lax", "--out", str(package)]) == 2
    assert "no policy 'lax'. There are: none; " in capsys.readouterr().err


@pytest.mark.usefixtures("package")
def test_without_the_package_the_line_that_installs_it_is_told(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setitem(sys.modules, "agentdojo.functions_runtime", None)
    assert main(["--out", str(tmp_path / "lines")]) == 2
    assert "pip install agentdojo==0.1.35" in capsys.readouterr().err
