"""Placing calls: what passes the gate, what is kept, what is written down, and what is not done twice."""

from __future__ import annotations

import json
import math
import re
from collections.abc import Sequence
from pathlib import Path

import pytest
from evals.toolformer import main
from evals.toolformer.annotate import annotate
from evals.toolformer.command import parser
from evals.toolformer.place import Placer, Settings
from evals.toolformer.record import Record, passages
from evals.toolformer.tools import SHOWN, calculator, calendar, catalogue, lookup

from counterfoil import Catalogue, Harness, Session, tool
from counterfoil.cli.output import Output
from counterfoil.cli.problem import Problem
from counterfoil.journal.memory import MemoryJournal
from counterfoil.models.local.likelihood import Token
from counterfoil.text import get
from counterfoil.types.error import ModelError
from counterfoil.types.message import ToolCall, ToolResult

pytestmark = pytest.mark.anyio

USER = Session(requester="toolformer", permissions=frozenset({"toolformer:use"}))
TEXT = "The hall has 40 rows of 25 seats, so 1000 people fit in."
CALCULATOR = SHOWN[0]
SETTINGS = Settings(tau_s=0.05, tau_f=0.5, k=5, m=3)


class Reader:
    """A model whose tokens are words, and which expects a number only where its result was told before.

    A call is likely to begin before `1000`, half as likely before `seats`, and nowhere else.
    """

    def __init__(self, *inputs: str | None) -> None:
        self.inputs = list(inputs)
        self.words: list[str] = []
        self.written = 0
        self.fails_at = -1

    def tokens(self, text: str) -> Sequence[Token]:
        return [Token(self._number(each), each.encode()) for each in re.findall(r"\s?[^\s]+|\s", text)]

    def _number(self, word: str) -> int:
        if word not in self.words:
            self.words.append(word)
        return self.words.index(word)

    def logprobs(self, before: Sequence[int], given: Sequence[int]) -> Sequence[float]:
        said, words = [self.words[each] for each in before], [self.words[each] for each in given]
        if words == [" ["]:
            return [math.log({" so": 0.4, " 25": 0.2}.get(said[-1], 0.01))]
        told = "".join(said).startswith("[Calculator(40 * 25) -> 1000]")
        return [-0.5 if each.strip() == "1000" and told else -3.0 for each in words]

    def write(self, prompt: str, pattern: str, seed: int) -> str | None:
        if self.written == self.fails_at:
            raise ModelError("the machine was switched off")
        self.written += 1
        return self.inputs[self.written % len(self.inputs)]


def _placer(reader: Reader, harness: Harness | None = None, settings: Settings = SETTINGS) -> Placer:
    return Placer(reader, harness or Harness(None, catalogue()), USER, [CALCULATOR], settings)


async def test_the_call_whose_result_makes_what_follows_likelier_stays() -> None:
    reader = Reader("40 * 25", "40 + 25", "40 * 25")
    found = await _placer(reader).passage(0, TEXT)
    assert found.annotated == TEXT.replace(" 1000", " [Calculator(40 * 25) -> 1000] 1000")
    assert [(each.at, each.input, each.kept) for each in found.candidates] == [
        (TEXT.index(" seats"), "40 + 25", False),
        (TEXT.index(" seats"), "40 * 25", False),
        (TEXT.index(" 1000"), "40 + 25", False),
        (TEXT.index(" 1000"), "40 * 25", True),
    ]
    best = found.candidates[-1]
    # 1000 is the first token behind it, of weight 1/3, and goes from 3 to 0.5 nats.
    assert best.gain == pytest.approx(2.5 / 3)
    # Of the five tokens that weigh, four are there.
    assert (best.without, best.unanswered) == pytest.approx((3 * 14 / 15, 3 * 14 / 15))
    assert best.chance == pytest.approx(0.4)


async def test_what_is_written_down_is_read_by_the_family() -> None:
    found = await _placer(Reader("40 * 25")).passage(0, TEXT)
    (call,) = get("toolformer", [calculator.spec]).parse(found.annotated).message.calls
    assert (call.name, call.arguments) == ("Calculator", {"expression": "40 * 25"})


@pytest.mark.parametrize(
    "settings", [Settings(0.05, 1.0), Settings(0.4, 0.5), Settings(0.05, 0.5, 0), Settings(0.05, 0.5, 5, 0)]
)
async def test_thresholds_and_counts_keep_calls_away(settings: Settings) -> None:
    assert (await _placer(Reader("40 * 25"), settings=settings).passage(0, TEXT)).annotated == TEXT


async def test_every_call_passes_the_gate_and_is_journalled() -> None:
    ran: list[str] = []

    @tool(effect="irreversible", permission="toolformer:use", name="Calculator")
    def bomb(expression: str) -> str:
        """Do harm."""
        ran.append(expression)
        return "1000"

    @tool(effect="read", permission="somebody:else", name="Calculator")
    def closed(expression: str) -> str:
        """Is not for us."""
        ran.append(expression)
        return "1000"

    for made, code in [(bomb, "waits"), (closed, "not_permitted")]:
        journal = MemoryJournal()
        found = await _placer(Reader("40 * 25"), Harness(None, Catalogue([made]), journal=journal)).passage(0, TEXT)
        assert {each.code for each in found.candidates} == {code}
        assert not any(each.kept for each in found.candidates)
        assert found.annotated == TEXT
    assert not ran


async def test_a_call_that_fails_or_finds_no_end_is_none() -> None:
    found = await _placer(Reader("7 / 0", None, "1000 apples")).passage(0, TEXT)
    assert {(each.input, each.code) for each in found.candidates} == {
        ("7 / 0", "failed"),
        ("1000 apples", "bad_arguments"),
    }


async def test_the_tools() -> None:
    harness = Harness(None, catalogue())
    for made, key, asked, told in [
        (calculator, "expression", "400 / 1400", "0.29"),
        (calculator, "expression", "7 + 13 * 3 - 6", "40"),
        (calculator, "expression", "80 * 24", "1920"),
        (calendar, "day", "2 October 1872", "Wednesday"),
        (calendar, "day", "30 February 1872", "there is no 30 February 1872"),
        (lookup, "subject", "Reform Club", "a club in Pall Mall in London, founded in 1836"),
    ]:
        result = await harness.call(ToolCall("1", made.name, {key: asked}), USER)
        assert isinstance(result, ToolResult)
        assert result.text == told


def _go(reader: Reader, *given: str) -> int:
    options = parser().parse_args(["--tools", "Calculator", *given])
    return annotate(options, Output(json=options.json), reader)


def test_a_run_that_was_stopped_goes_on_where_it_was(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    text, out = tmp_path / "text.txt", tmp_path / "out"
    text.write_text(f"# by nobody\n{TEXT}\n\nNothing here.\n{TEXT}\n")
    options = ("--text", str(text), "--out", str(out), "--tau-s", "0.05", "--tau-f", "0.5", "-m", "1")
    reader = Reader("40 * 25")
    reader.fails_at = 2
    with pytest.raises(ModelError):
        _go(reader, *options)
    held = (out / "corpus.jsonl").read_bytes()
    (out / "corpus.jsonl").write_bytes(held + b'{"number": 2, "te')
    reader = Reader("40 * 25")
    assert _go(reader, *options) == 0
    lines = [json.loads(line) for line in (out / "corpus.jsonl").read_text().splitlines()]
    assert (out / "corpus.jsonl").read_bytes().startswith(held)
    assert [line["number"] for line in lines] == [0, 1, 2]
    assert lines[0]["annotated"] == lines[2]["annotated"] != TEXT
    assert reader.written == 2, "the two positions of the last passage"
    assert (
        "Calculator  4        0                  2                 0            2     0.83" in capsys.readouterr().out
    )

    with pytest.raises(Problem, match=r"tau_f was 0\.5 and is now 1\.0"):
        _go(reader, *options, "--tau-f", "1")


def test_of_calls_that_help_at_one_position_the_best_stays(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    class Both(Reader):
        def logprobs(self, before: Sequence[int], given: Sequence[int]) -> Sequence[float]:
            found = super().logprobs(before, given)
            said = "".join(self.words[each] for each in before)
            return [-1.0] * len(given) if said.startswith("[Calculator(1000 * 1) -> 1000]") else found

    reader = Both("40 * 25", "1000 * 1")
    (tmp_path / "text.txt").write_text(TEXT)
    assert _go(reader, "--text", str(tmp_path / "text.txt"), "-k", "1", "--tau-f", "0.5", "--json") == 0
    counts = json.loads(capsys.readouterr().out.splitlines()[0])
    assert (counts["sampled"], counts["second"], counts["kept"]) == (2, 1, 1)
    assert counts["gains"] == pytest.approx([(3 - 1) * 14 / 15])


def test_bad_usage_is_told(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "empty.txt").write_text("# nothing\n")
    for options in (["--tau-s", "1"], ["-k", "0"], ["--tools", "Rocket"], ["--text", str(tmp_path / "empty.txt")]):
        assert main(options) == 2
    told = capsys.readouterr().err
    for part in ("no probability", "no count", "Calculator, Calendar, Lookup", "has no passages"):
        assert part in told
    (tmp_path / "corpus.jsonl").write_text("{}\n")
    with pytest.raises(Problem, match="line 1"):
        Record(tmp_path, {})


def test_the_repositorys_own_text_is_there() -> None:
    assert len(passages(None)) == 7
    assert all(any(character.isdigit() for character in each) or "hundred" in each for each in passages(None))
