"""Texts with prose and calls, about as many bytes as asked for, and what reading them costs."""

from __future__ import annotations

import random
from pathlib import Path
from typing import Any, NamedTuple

import msgspec
from evals.constrained.masks import Vocabulary, cost

from benchmarks.measures.text_peers import best, cut
from counterfoil import text
from counterfoil.text.constrain import Constrainer, LlGuidance
from counterfoil.types.message import Block, Message, Reasoning, Text, ToolCall
from counterfoil.types.request import Reply, ToolSpec
from counterfoil.types.stream import ReplyFold

NAMES = (
    "hermes",
    "qwen3-coder",
    "glm",
    "deepseek-v3.1",
    "kimi-k2",
    "mistral-v13",
    "llama3-json",
    "llama4-pythonic",
    "harmony",
    "gemma4",
    "react",
    "toolformer",
)
"""One family of each class, and of each way to spell it that is read by code of its own."""
TOOLS = (
    ToolSpec(
        "track_order",
        "Where a parcel is.",
        {
            "type": "object",
            "properties": {
                "order": {"type": "string"},
                "note": {"type": "string"},
                "depth": {"type": "integer"},
                "express": {"type": "boolean"},
                "fields": {"type": "array", "items": {"type": "string"}},
            },
            "required": ["order", "note", "depth", "express", "fields"],
            "additionalProperties": False,
        },
    ),
)
SMALL = 3_906
"""Bytes of a reply as long as most are."""
SHAPES = ("mixed", "prose first", "calls alone")
_PROSE = "the parcel left depot Monday and is due (tomorrow), it's 3 kg: a café in Köln, platform 7; no news yet"
_WORDS = _PROSE.split()


class Sample(NamedTuple):
    """A reply as one family writes it, and what it says."""

    name: str
    text: str
    message: Message

    @property
    def bytes(self) -> int:
        """How long it is."""
        return len(self.text.encode())


class Cost(msgspec.Struct, frozen=True):
    """MB of text per second of CPU; growth is the time of the whole text per that of one half as long."""

    whole: float
    by4: float
    by40: float
    growth: float
    growth_by4: float
    small: float
    small_by4: float


class Masks(msgspec.Struct, frozen=True):
    """Milliseconds to make a grammar and for the engine to compile it, and the microseconds of each mask."""

    made: float
    compiled: float
    taken: tuple[float, ...]


def sample(name: str, size: int, shape: str = "mixed", seed: int = 0) -> Sample:
    """About `size` bytes: a call of about 220 bytes behind as much prose, over and over.

    `shape` may also be "prose first", with all calls behind it, or "calls alone".
    """
    rng = random.Random(seed)  # noqa: S311 - a seed, not a secret
    form = text.get(name, TOOLS)
    thinks = form.family.calls.reads_all
    each = len(form.render(_reply([*_pair(rng, 0, thinks), *_pair(rng, 1, thinks)])).encode()) / 2
    blocks: list[Block] = []
    for number in range(max(1, round(size / each))):
        blocks += _pair(rng, number, thinks)
    if shape != "mixed":
        said = [each for each in blocks if not isinstance(each, ToolCall)] if shape == "prose first" else []
        blocks = [*said, *(each for each in blocks if isinstance(each, ToolCall))]
    written = _reply(blocks)
    return Sample(name, form.render(written), written.message)


def _pair(rng: random.Random, number: int, thinks: bool) -> list[Block]:
    said = " ".join(rng.choices(_WORDS, k=44)).capitalize() + "."
    arguments = {
        "order": f"ORD-{rng.randrange(10**6)}",
        "note": " ".join(rng.choices(_WORDS, k=24)),
        "depth": number,
        "express": rng.random() < 0.5,
        "fields": rng.sample(["place", "date", "weight"], 2),
    }
    return [Reasoning(said) if thinks else Text(said), ToolCall(f"call{number}", TOOLS[0].name, arguments)]


def _reply(blocks: list[Block]) -> Reply:
    return Reply(Message("assistant", tuple(blocks)), "tool_calls")


def parse(given: Sample) -> Reply:
    """Read all of it at once."""
    return text.get(given.name, TOOLS).parse(given.text)


def feed(given: Sample, pieces: list[str]) -> Reply:
    """Read it as it arrives."""
    reader, folding = text.get(given.name, TOOLS).reader(), ReplyFold()
    for piece in pieces:
        for event in reader.feed(piece):
            folding.add(event)
    for event in reader.close():
        folding.add(event)
    return folding.reply


def same(given: Sample, read: Reply) -> bool:
    """Whether all was read as it was written."""
    return _said(read.message) == _said(given.message)


def _said(message: Message) -> tuple[str, list[Any]]:
    prose = "".join(each.text for each in message.blocks if isinstance(each, Text | Reasoning))
    return prose, [(each.name, each.arguments) for each in message.calls]


def measure(name: str, size: int, rounds: int = 5) -> Cost:
    """What reading costs. Raises `ValueError` if what is read is not what was written."""
    small, half, full = (sample(name, each) for each in (min(SMALL, size), size // 2, size))
    by4, by40, half4, small4 = cut(full.text, 4), cut(full.text, 40), cut(half.text, 4), cut(small.text, 4)
    for read in (parse(full), feed(full, by4), feed(full, by40)):
        if not same(full, read):
            raise ValueError(f"{name} does not read back what it wrote")
    halved, whole = best(lambda: parse(half), rounds), best(lambda: parse(full), rounds)
    halved4, whole4 = best(lambda: feed(half, half4), rounds), best(lambda: feed(full, by4), rounds)
    ratio = full.bytes / half.bytes / 2
    return Cost(
        full.bytes / whole / 1e6,
        full.bytes / whole4 / 1e6,
        full.bytes / best(lambda: feed(full, by40), rounds) / 1e6,
        whole / halved / ratio,
        whole4 / halved4 / ratio,
        small.bytes / best(lambda: parse(small), 4 * rounds) / 1e6,
        small.bytes / best(lambda: feed(small, small4), 4 * rounds) / 1e6,
    )


def masks(name: str, words: Vocabulary, rounds: int = 5) -> Masks:
    """What a constraint costs along a reply of one call. Raises `ValueError` if the grammar refuses the reply."""
    given = sample(name, 1)
    found: list[Masks] = []
    for _ in range(rounds):
        constrainer, made = Constrainer(text.family(name), LlGuidance()), list[str]()
        seconds = best(lambda: made.append(constrainer.constraint(TOOLS).lark()), 1)  # noqa: B023 - called at once
        compiled, taken = cost(made[0], given.text, words)
        if len(taken) < len(words(given.text)):
            raise ValueError(f"the grammar of {name} refuses {given.text!r} at token {len(taken)}")
        found.append(Masks(seconds * 1e3, compiled, tuple(taken)))
    # The best of several, token by token: what the machine does besides is none of the grammar's.
    least = tuple(map(min, zip(*(each.taken for each in found), strict=True)))
    return Masks(min(each.made for each in found), min(each.compiled for each in found), least)


def write(folder: Path, names: tuple[str, ...], sizes: list[int]) -> None:
    """Write what the peers will read: texts of each size, the shortest first."""
    folder.mkdir(parents=True, exist_ok=True)
    for name in names:
        shapes: dict[str, Any] = {}
        for shape in SHAPES:
            samples = [sample(name, size, shape) for size in sizes]
            calls = [[call.arguments for call in each.message.calls] for each in samples]
            shapes[shape] = {"texts": [each.text for each in samples], "calls": calls}
        tools = [{"name": each.name, "parameters": each.parameters} for each in TOOLS]
        (folder / f"{name}.json").write_bytes(msgspec.json.encode({"tools": tools, "shapes": shapes}))
