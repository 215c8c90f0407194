"""Sample positions and calls, execute them through the gate, keep those that help (Schick et al. 2023, section 2)."""

from __future__ import annotations

import math
from collections.abc import Sequence

import msgspec

from counterfoil import Harness, Session
from counterfoil.models.continuous import one_text
from counterfoil.models.local.likelihood import Token
from counterfoil.text import family
from counterfoil.types.message import Message, Text, ToolCall, ToolResult
from evals.toolformer import losses
from evals.toolformer.scorer import Scorer
from evals.toolformer.tools import Shown

START = " ["
"""How a call begins, as one token; a text may be parted where a word does."""
_FAMILY = family("toolformer")


class Settings(msgspec.Struct, frozen=True):
    """The paper's parameters. There `tau_s` is 0.05; for its calculator they are 0, 0.5, 20 and 10."""

    tau_s: float = 0.0
    tau_f: float = 1.0
    k: int = 5
    m: int = 5
    seed: int = 0


class Candidate(msgspec.Struct, frozen=True, omit_defaults=True):
    """One call that was sampled. `at` counts characters; losses are in nats."""

    tool: str
    at: int
    chance: float
    """The probability that a call begins here."""
    input: str
    result: str
    code: str = ""
    """Why it gave no result: the gate's word, `failed`, or `waits` for a call that a person has to confirm."""
    without: float = 0.0
    unanswered: float = 0.0
    answered: float = 0.0
    gain: float = 0.0
    kept: bool = False


class Passage(msgspec.Struct, frozen=True):
    """A text that was looked at, with the calls that stay in it."""

    number: int
    text: str
    annotated: str
    candidates: list[Candidate]


class Spot(msgspec.Struct, frozen=True):
    """A position: where it is, how likely a call begins there, and the tokens before and right behind it."""

    at: int
    chance: float
    before: list[int]
    near: list[int]


class Placer:
    """Annotates texts, for one model and the tools of one harness, whose gate every call passes."""

    def __init__(
        self, scorer: Scorer, harness: Harness, session: Session, shown: Sequence[Shown], settings: Settings
    ) -> None:
        self._scorer, self._harness, self._session = scorer, harness, session
        self._shown, self._settings = shown, settings
        self._specs = [each.tool.spec for each in shown]
        start = scorer.tokens(START)
        self._start = [each.id for each in start][:1]

    async def passage(self, number: int, text: str) -> Passage:
        """Annotate one text."""
        tokens = self._scorer.tokens(text)
        found = [each for shown in self._shown for each in await self._candidates(shown, text, tokens)]
        chosen = _best(found)
        found = [msgspec.structs.replace(each, kept=each in chosen) for each in found]
        return Passage(number, text, self._annotated(text, chosen), found)

    async def _candidates(self, shown: Shown, text: str, tokens: Sequence[Token]) -> list[Candidate]:
        ids = [each.id for each in tokens]
        prompt = shown.prompt(text)
        before = [each.id for each in self._scorer.tokens(prompt)]
        chances = {
            index: math.exp(self._scorer.logprobs([*before, *ids[:index]], self._start)[0])
            for index, token in enumerate(tokens)
            if index and token.piece[:1].isspace()
        }
        found: list[Candidate] = []
        for index in losses.positions(chances, self._settings.tau_s, self._settings.k):
            # Where a word begins, so does a character.
            said = b"".join(each.piece for each in tokens[:index]).decode()
            seeds = range(self._settings.seed, self._settings.seed + self._settings.m)
            inputs = [
                self._scorer.write(f"{prompt}{said}{START}{shown.name}(", shown.pattern, seed + index) for seed in seeds
            ]
            spot = Spot(len(said), chances[index], ids[:index], ids[index : index + losses.HORIZON])
            for each in dict.fromkeys(each for each in inputs if each is not None):
                found.append(await self._candidate(shown, each, spot))
        return found

    async def _candidate(self, shown: Shown, written: str, spot: Spot) -> Candidate:
        call = ToolCall("1", shown.name, {shown.parameter: written})
        outcome = await self._harness.call(call, self._session)
        sampled = Candidate(shown.name, spot.at, spot.chance, written, "", "waits")
        if not isinstance(outcome, ToolResult):
            return sampled
        if outcome.is_error:
            return msgspec.structs.replace(sampled, result=outcome.text, code=outcome.code or "failed")
        without = losses.loss(self._scorer.logprobs(spot.before, spot.near))
        unanswered, answered = self._loss([call], spot), self._loss([call, outcome], spot)
        gained = losses.gain(without, unanswered, answered)
        return msgspec.structs.replace(
            sampled,
            result=outcome.text,
            code="",
            without=without,
            unanswered=unanswered,
            answered=answered,
            gain=gained,
            kept=losses.is_kept(gained, self._settings.tau_f),
        )

    def _loss(self, call: list[ToolCall | ToolResult], spot: Spot) -> float:
        # In front of the text, as the paper has it: in its midst it would disturb a model that knows no calls yet.
        prefix = one_text(_FAMILY, _messages(call), self._specs) + "\n"
        before = [*(each.id for each in self._scorer.tokens(prefix)), *spot.before]
        return losses.loss(self._scorer.logprobs(before, spot.near))

    def _annotated(self, text: str, chosen: Sequence[Candidate]) -> str:
        parameters = {each.name: each.parameter for each in self._shown}
        blocks: list[Text | ToolCall | ToolResult] = []
        last = 0
        for number, each in enumerate(sorted(chosen, key=lambda held: held.at)):
            call = ToolCall(str(number), each.tool, {parameters[each.tool]: each.input})
            blocks += [Text(text[last : each.at] + " "), call, ToolResult(call.id, (Text(each.result),))]
            last = each.at
        return one_text(_FAMILY, _messages([*blocks, Text(text[last:])]), self._specs)


def _messages(blocks: Sequence[Text | ToolCall | ToolResult]) -> list[Message]:
    return [Message("tool" if isinstance(each, ToolResult) else "assistant", (each,)) for each in blocks]


def _best(candidates: Sequence[Candidate]) -> list[Candidate]:
    """Of the calls that help at one position, the one that helps most."""
    best: dict[int, Candidate] = {}
    for each in candidates:
        if each.kept and (each.at not in best or each.gain > best[each.at].gain):
            best[each.at] = each
    return list(best.values())
