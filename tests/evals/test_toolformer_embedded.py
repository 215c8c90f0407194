"""Reading with the embedded model: exact log-probabilities, and a few positions of a text for real."""

from __future__ import annotations

import json
import math
from collections.abc import Iterator
from pathlib import Path

import pytest
from evals.toolformer import losses, main
from evals.toolformer.scorer import LocalScorer
from evals.toolformer.tools import SHOWN

from counterfoil.models.local import WEIGHTS, fetch
from counterfoil.models.local.engine import Piece
from counterfoil.models.local.likelihood import LlamaLikelihood
from counterfoil.types.error import ModelError
from counterfoil.types.request import Sampling

TEXT = "The café in Room 7 closed [at noon] on Sunday, the 18th of June.\n"


@pytest.fixture(scope="module")
def reader() -> Iterator[LlamaLikelihood]:
    engine = LlamaLikelihood(fetch(WEIGHTS["smollm2"]), 512, 1)
    yield engine
    engine.close()


def test_tokens_are_the_text(reader: LlamaLikelihood) -> None:
    assert b"".join(each.piece for each in reader.tokens(TEXT)).decode() == TEXT
    assert len(reader.tokens(" [")) == 1
    assert len(reader.tokens("<|im_end|>")) > 1, "what somebody wrote ends no turn"


def test_the_probability_of_a_given_text_is_the_one_it_is_decoded_with(reader: LlamaLikelihood) -> None:
    pieces: list[Piece] = []

    def listen(piece: Piece | None) -> bool:
        pieces.extend([piece] if piece is not None else [])
        return False

    grammar = "%llguidance {}\nstart: /[a-zA-Z ]{1,24}/"
    reader.decode("The capital of France is", grammar, Sampling(max_tokens=4), listen)
    before = [each.id for each in reader.tokens("The capital of France is")]
    given = [each.id for each in reader.tokens("".join(each.text for each in pieces))]
    assert reader.logprobs(before, given) == pytest.approx([each.logprob for each in pieces], abs=1e-3)


def test_probabilities_chain_and_are_those_of_one_distribution(reader: LlamaLikelihood) -> None:
    ids = [each.id for each in reader.tokens(TEXT)]
    whole = reader.logprobs(ids[:3], ids[3:8])
    assert whole == pytest.approx([reader.logprobs(ids[:at], ids[at : at + 1])[0] for at in range(3, 8)], abs=1e-3)
    some = [math.exp(reader.logprobs(ids[:3], [token])[0]) for token in range(30, 60)]
    assert 0 < sum(some) < 1
    assert reader.logprobs(ids[:3], []) == ()
    with pytest.raises(ModelError, match="at least one"):
        reader.logprobs([], ids)


def test_a_result_told_before_makes_the_text_likelier(reader: LlamaLikelihood) -> None:
    before = [each.id for each in reader.tokens("In 1872 they met on")]
    near = [each.id for each in reader.tokens(" Wednesday, the 2nd")][: losses.HORIZON]
    told = [each.id for each in reader.tokens("[Calendar(2 October 1872) -> Wednesday]\n")]
    without = losses.loss(reader.logprobs(before, near))
    assert losses.loss(reader.logprobs([*told, *before], near)) < without - 0.3


def test_what_is_sampled_is_an_input_of_the_tool(reader: LlamaLikelihood) -> None:
    scorer = LocalScorer(reader)
    shown = SHOWN[1]
    prompt = shown.prompt("They met on Sunday, the 18th of June, 1815.") + "They met on [Calendar("
    written = {scorer.write(prompt, shown.pattern, seed) for seed in range(3)}
    assert all(each is not None and len(each.split(" ")) == 3 for each in written)
    assert scorer.write(prompt, shown.pattern, 1) == scorer.write(prompt, shown.pattern, 1)


def test_a_few_positions_for_real(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "text.txt").write_text("The battle of Waterloo was fought on Sunday, the 18th of June, 1815.\n")
    options = ["--text", str(tmp_path / "text.txt"), "--tools", "Calendar", "-k", "2", "-m", "2", "--tau-f", "-9"]
    assert main([*options, "--out", str(tmp_path / "out")]) == 0
    (row,) = (json.loads(line) for line in (tmp_path / "out" / "corpus.jsonl").read_text().splitlines())
    ran = [each for each in row["candidates"] if "code" not in each]
    assert 2 <= len(row["candidates"]) <= 4
    for each in ran:
        assert each["gain"] == pytest.approx(min(each["without"], each["unanswered"]) - each["answered"])
        assert each["gain"] >= -9
    assert row["annotated"].count("[Calendar(") == len({each["at"] for each in ran}) > 0
    assert "Calendar" in capsys.readouterr().out
