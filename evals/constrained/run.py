"""Measure calls under constraint, over many catalogues, and print the table.

    python -m evals.constrained.run [--limit 600] [--walks-only] [--out FOLDER] [--tokens 96] [--minutes 10]

Each catalogue is asked of SmolLM2 twice, with and without the constraint, with the same words: "Call TOOL." And without
any model, two families a catalogue, texts are drawn at random from the grammar. Every call is parsed by the family's
reader and validated by the gate's own validator. One line of JSON for each question; what is there is not asked again.
"""

from __future__ import annotations

import argparse
import sys
import time
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from statistics import median
from typing import Any

import anyio
import msgspec

from counterfoil.models.completions import EngineCompletion
from counterfoil.models.local import WEIGHTS, fetch
from counterfoil.models.template import ChatTemplate
from counterfoil.models.text_model import TextModel
from counterfoil.text import Format, families
from counterfoil.text import family as family_of
from counterfoil.text.constrain import Bounds, Constrainer, LlGuidance, Turn
from counterfoil.tools.arguments import compile_schema
from counterfoil.types.message import ToolCall, user
from counterfoil.types.request import AUTO, Reply, Request, Sampling, ToolChoice, ToolSpec
from evals.command import positive
from evals.constrained.catalogues import Catalogue, catalogues
from evals.constrained.masks import Vocabulary, cost
from evals.constrained.walk import walk

FAMILY = "hermes"
TURN = Turn(calls=1, reasoning=False, sealed=True, bounds=Bounds(string=10, items=1, keys=1, digits=3))
WALK = Turn(calls=2, reasoning=False, bounds=Bounds(string=12, items=2, keys=2, digits=4))
ANY = ToolChoice("any")


class Row(msgspec.Struct, frozen=True, omit_defaults=True):
    """What came of one question: how many calls, how many of them parsed, and how many conform.

    Those of tools of which every keyword is enforced, and (`loose_`) those of the others, are counted apart.
    """

    catalogue: str
    source: str
    how: str
    family: str
    calls: int = 0
    parsed: int = 0
    valid: int = 0
    cut: bool = False
    loose_calls: int = 0
    loose_parsed: int = 0
    loose_valid: int = 0
    seconds: float = 0.0
    compile_ms: float = 0.0
    masks_us: tuple[float, ...] = ()
    text: str = ""


class Judge:
    """Says of calls whether they conform."""

    def __init__(self, tools: Iterable[ToolSpec]) -> None:
        self._held = {tool.name: compile_schema(tool.parameters, tool.name) for tool in tools}

    def row(self, calls: Iterable[ToolCall], loosened: Iterable[str]) -> dict[str, Any]:
        """The counts."""
        loose = set(loosened)
        counts: dict[str, Any] = dict.fromkeys(
            ("calls", "parsed", "valid", "loose_calls", "loose_parsed", "loose_valid"), 0
        )
        for each in calls:
            before = "loose_" if each.name in loose else ""
            counts[f"{before}calls"] += 1
            counts[f"{before}parsed"] += each.arguments is not None
            held = self._held.get(each.name)
            counts[f"{before}valid"] += (
                each.arguments is not None and held is not None and held.is_valid(each.arguments)
            )
        return counts


def walks(catalogue: Catalogue, number: int, made: dict[str, Constrainer]) -> Iterator[Row]:
    """Texts from the grammars of two families."""
    names = list(made)
    judge = Judge(catalogue.tools)
    for name in (names[number % len(names)], names[(number * 7 + 3) % len(names)]):
        constraint = made[name].constraint(catalogue.tools, ANY, WALK)
        for seed in range(2):
            began = time.perf_counter()
            text, whole = walk(constraint.lark(), seed)
            calls = Format(family_of(name), catalogue.tools).parse(text).message.calls if whole else ()
            counts = judge.row(calls, constraint.loosened)
            took = time.perf_counter() - began
            yield Row(
                catalogue.name, catalogue.source, "walk", name, cut=not whole, seconds=took, text=text[:400], **counts
            )


async def asked(model: TextModel, catalogue: Catalogue, tokens: int, words: Vocabulary) -> Row:
    """One question to the model."""
    tool = catalogue.tools[-1]
    choice = ANY if model.constrains else AUTO
    request = Request((user(f"Call {tool.name}."),), catalogue.tools, choice, sampling=Sampling(max_tokens=tokens))
    constraint = model.constraint(request) if model.constrains else None
    began = time.perf_counter()
    reply: Reply = await model.reply(request)
    took = time.perf_counter() - began
    counts = Judge(catalogue.tools).row(reply.message.calls, constraint.loosened if constraint else ())
    compiled, masks = 0.0, list[float]()
    said = reply.message.text
    if constraint is not None:
        said = model_text(reply, catalogue.tools)
        compiled, masks = cost(constraint.lark(), said, words)
    how = "constrained" if model.constrains else "free"
    return Row(
        catalogue.name,
        catalogue.source,
        how,
        FAMILY,
        cut=reply.stop == "length",
        seconds=round(took, 3),
        compile_ms=round(compiled, 3),
        masks_us=tuple(round(each, 1) for each in masks),
        text=said[:400],
        **counts,
    )


def model_text(reply: Reply, tools: tuple[ToolSpec, ...]) -> str:
    """A reply as the model wrote it."""
    return Format(family_of(FAMILY), tools).render(reply)


def main(argv: Sequence[str] | None = None) -> int:
    """Measure and print; returns the exit code."""
    parser = argparse.ArgumentParser(
        prog="counterfoil eval constrained",
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
        allow_abbrev=False,
    )
    parser.add_argument("--limit", metavar="N", type=positive, default=600, help="catalogues (default: 600)")
    parser.add_argument("--out", type=Path, default=Path("constrained-out"), help="where rows are kept")
    parser.add_argument("--tokens", metavar="N", type=positive, default=96, help="the most a reply may have")
    parser.add_argument("--minutes", type=float, default=10.0, help="begin no question of the model after these")
    parser.add_argument(
        "--free-every",
        metavar="N",
        type=positive,
        default=1,
        help="ask every Nth catalogue without the constraint, too",
    )
    parser.add_argument("--walks-only", action="store_true", help="without a model")
    options = parser.parse_args(argv)
    options.out.mkdir(parents=True, exist_ok=True)
    found = catalogues(options.out, options.limit)
    kept = Rows(options.out / "rows.jsonl")
    engine = LlGuidance()
    made = {name: Constrainer(family, engine) for name, family in families().items()}
    for number, catalogue in enumerate(found):
        progress("random texts", number + 1, len(found))
        if not kept.has(catalogue.name, "walk"):
            kept.add(walks(catalogue, number, made))
    if not options.walks_only:
        anyio.run(models, found, kept, options.tokens, options.minutes * 60, options.free_every)
    for line in table(kept.rows):
        sys.stdout.write(line + "\n")
    return 0


async def models(found: list[Catalogue], kept: Rows, tokens: int, seconds: float, every: int) -> None:
    """Ask the model, with the constraint and without."""
    path = fetch(WEIGHTS["smollm2"])
    template, words, engine = ChatTemplate.load(path), Vocabulary(path), LlGuidance()
    began = time.monotonic()
    with EngineCompletion.load(path, context=2048) as completion:
        held = TextModel(completion, FAMILY, template, engine=engine, turn=TURN)
        free = TextModel(completion, FAMILY, template, constrain=False)
        for number, catalogue in enumerate(found):
            progress("questions", number + 1, len(found))
            for model, how in ((held, "constrained"), (free, "free")):
                if how == "free" and number % every:
                    continue
                if not kept.has(catalogue.name, how) and time.monotonic() - began < seconds:
                    kept.add([await asked(model, catalogue, tokens, words)])


class Rows:
    """The rows in a file."""

    def __init__(self, path: Path) -> None:
        self._path = path
        lines = path.read_bytes().splitlines() if path.is_file() else []
        self.rows = [msgspec.json.decode(line, type=Row) for line in lines]
        self._known = {(row.catalogue, row.how) for row in self.rows}

    def has(self, catalogue: str, how: str) -> bool:
        """Whether a question has been asked."""
        return (catalogue, how) in self._known

    def add(self, rows: Iterable[Row]) -> None:
        """Keep rows."""
        fresh = list(rows)
        with self._path.open("ab") as file:
            file.write(b"".join(msgspec.json.encode(row) + b"\n" for row in fresh))
        self.rows += fresh
        self._known |= {(row.catalogue, row.how) for row in fresh}


def table(rows: list[Row]) -> Iterator[str]:
    """The results, a line each. What was cut off at the limit of tokens is counted apart: no call of it is ever run."""
    yield "| what | catalogues | replies | cut off | calls | parsed | conform |"
    yield "|---|---|---|---|---|---|---|"
    for title, how in (("SmolLM2, constrained", "constrained"), ("random texts", "walk")):
        some = [row for row in rows if row.how == how]
        whole = [row for row in some if not row.cut]
        head = f"{len({row.catalogue for row in some})} | {len(some)} | {sum(row.cut for row in some)}"
        sure = sum(row.calls for row in whole)
        yield _line(f"{title}: all of the schema enforced", head, sure, whole, ("parsed", "valid"))
        loose = sum(row.loose_calls for row in whole)
        yield _line(f"{title}: schema loosened", "as above | | ", loose, whole, ("loose_parsed", "loose_valid"))
    free = [row for row in rows if row.how == "free"]
    head = f"{len(free)} | {len(free)} | {sum(row.cut for row in free)}"
    yield _line("SmolLM2, unconstrained", head, sum(row.calls for row in free), free, ("parsed", "valid"))
    good = sum(0 < row.valid == row.calls for row in free)
    yield f"| ... replies that are calls, and all conform | {len(free)} | | | | | {_part(good, len(free))} |"
    masks = sorted(each for row in rows for each in row.masks_us)
    compiled = sorted(row.compile_ms for row in rows if row.how == "constrained")
    if masks:
        yield ""
        yield f"grammar compile: median {median(compiled):.2f} ms, p99 {compiled[int(len(compiled) * 0.99)]:.2f} ms"
        yield (
            f"masks, 49,152 tokens, {len(masks)} of them: mean {sum(masks) / len(masks):.0f} us, "
            f"median {median(masks):.0f} us, p99 {masks[int(len(masks) * 0.99)]:.0f} us"
        )
        yield "llguidance says of itself: about 50 us a mask (128,000 tokens), and next to nothing to compile"


def _line(title: str, head: str, calls: int, rows: list[Row], fields: tuple[str, str]) -> str:
    parsed, valid = (sum(getattr(row, field) for row in rows) for field in fields)
    return f"| {title} | {head} | {calls} | {_part(parsed, calls)} | {_part(valid, calls)} |"


def _part(count: int, whole: int) -> str:
    return f"{count} ({count / whole:.1%})" if whole else "none"


def progress(what: str, done: int, whole: int) -> None:
    """A bar on a terminal, a line now and then elsewhere."""
    if sys.stderr.isatty():
        filled = 30 * done // whole
        sys.stderr.write(f"\r{what:14} [{'#' * filled:30}] {done}/{whole}" + ("\n" if done == whole else ""))
    elif done == whole or done % 50 == 0:
        sys.stderr.write(f"{what}: {done}/{whole}\n")


if __name__ == "__main__":
    sys.exit(main())
