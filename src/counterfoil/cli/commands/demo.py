"""`counterfoil demo`: an order desk, a real model, and everything that can go wrong going right."""

from __future__ import annotations

import argparse
import tempfile
import time
from contextlib import ExitStack
from pathlib import Path

import anyio
import anyio.to_thread

from counterfoil.cli.commands.call import loaded
from counterfoil.cli.demo import injected
from counterfoil.cli.demo.tour import Broken, Tour
from counterfoil.cli.options import Commands, command
from counterfoil.cli.output import Output, Part
from counterfoil.cli.problem import Problem
from counterfoil.cli.words import BAD, DIM, GOOD, WAITS
from counterfoil.models.model import Model
from counterfoil.models.registry import remote_example
from counterfoil.types.error import MissingExtra, ModelError

EXAMPLES = """
counterfoil demo
counterfoil demo --scripted             # without any model
counterfoil demo --keep desk            # keep the database and the journal in ./desk, to look around in
counterfoil demo --model local:needle
counterfoil demo --injected             # an order's note gives orders, and the model obeys them
"""


def add(commands: Commands) -> None:
    """Add the command."""
    parser = command(
        commands, "demo", "show it all at an order desk, with a real model, no key and no network", EXAMPLES,
        journal=False, json=False,
    )  # fmt: skip
    parser.add_argument("--model", metavar="SPEC", default="local", help="the model that is asked (default: local)")
    parser.add_argument("--scripted", action="store_true", help="let a scripted model play every scene")
    parser.add_argument("--keep", metavar="DIR", help="keep the desk's database and the journal in this folder")
    parser.add_argument(
        "--injected", action="store_true", help="show instead what becomes of a prompt injection, in the worst case"
    )
    parser.set_defaults(run=run)


def run(options: argparse.Namespace, out: Output) -> int:
    """Show everything."""
    out.only_shows()
    if options.injected:
        return anyio.run(injected.play, out)
    with ExitStack() as stack:
        if options.keep:
            folder = Path(options.keep)
            if any((folder / name).exists() for name in ("desk.db", "journal.db")):
                raise Problem(f"{folder} holds an earlier demonstration: remove it, or name another folder")
            folder.mkdir(parents=True, exist_ok=True)
        else:
            folder = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="counterfoil-demo-")))
        return anyio.run(_run, options, out, folder)


async def _run(options: argparse.Namespace, out: Output, folder: Path) -> int:
    title: list[Part] = [("counterfoil", "bold"), "  between what a model asks for and what your systems do"]
    if options.scripted:
        model = None
        out.say(*title)
        out.say(("model", "bold"), "  a " + _SCRIPTED)
    else:
        model = await _model(options.model, title, out)
    out.say(("desk", "bold"), "   a SQLite database of orders, six tools; ada is a customer, bob works there")
    began = time.monotonic()
    tour = Tour(out, folder, model)
    try:
        await tour.play()
    except Broken as broken:
        out.error(f"the demonstration stopped: {broken}")
    finally:
        await tour.journal.aclose()
        if (close := getattr(model, "close", None)) is not None:
            await anyio.to_thread.run_sync(close)
    _conclude(out, tour, model, time.monotonic() - began)
    if options.keep:
        _look_around(out, folder)
    return 1 if tour.failed else 0


async def _model(spec: str, title: list[Part], out: Output) -> Model | None:
    """Load the model; if it is not there, say what would bring it and go on without."""
    began = time.monotonic()
    try:
        model = await loaded(spec, out)
    except (MissingExtra, ModelError) as error:
        if spec.partition(":")[0] != "local":
            raise
        out.say(*title)
        out.say(("no model", WAITS), f"  {error}")
        out.say("going on with a " + _SCRIPTED, indent=10)
        return None
    out.say(*title)
    local = model.name.startswith("local:")
    where = f"in this process, loaded in {time.monotonic() - began:.1f} s" if local else "over the network"
    out.say(("model", "bold"), f"  {model.name}, {where}")
    return model


def _conclude(out: Output, tour: Tour, model: Model | None, seconds: float) -> None:
    out.say()
    for each in tour.failed:
        out.say(("not as it should be: ", BAD), each)
    if model is not None:
        managed = f"{model.name} managed {tour.managed} of the {tour.asked} scenes it was asked"
        out.say((managed, GOOD if tour.managed else WAITS), f"; {seconds:.0f} s in all.")
    else:
        out.say((f"{seconds:.0f} s in all.", DIM))
    if model is not None and model.name.startswith("local:smollm2"):
        out.say(_HONESTY, indent=2)
    if (example := remote_example()) is not None:
        out.say(("A provider's model instead:  ", DIM), (f"counterfoil demo --model {example}", "bold"))
    else:
        out.say(("A larger model instead:  ", DIM), ("counterfoil demo --model local:path/to/model.gguf", "bold"))
    out.say(("Your own tools:  ", DIM), ("counterfoil chat yourmodule:catalogue --as you --permission '*'", "bold"))


_SCRIPTED = "scripted model: its replies are written beforehand; gate, journal and tools are real"
_HONESTY = (
    "What it can do: write the calls of a short request, token by token, such that they fit their tool's schema. "
    "What it cannot: choose well among many tools, reason, or word an answer. With 135 million parameters it is "
    "helped: a search narrows the tools, arguments come from what was said, and its answers quote the results. "
    "The gate, the journal and the confirmation are the same for every model, and trust none."
)


def _look_around(out: Output, folder: Path) -> None:
    out.say(("Look around, in this folder:", DIM))
    out.say(f"cd {folder}; export COUNTERFOIL_JOURNAL=journal.db COUNTERFOIL_DESK=desk.db", indent=2)
    out.say("counterfoil runs; counterfoil show last", indent=2)
    out.say("counterfoil replay last counterfoil.cli.demo.desk:catalogue", indent=2)
    out.say(
        "counterfoil chat counterfoil.cli.demo.desk:catalogue --as ada --permission orders:read "
        "--permission orders:cancel",
        indent=2,
    )
