"""The tour: plays the scenes with the real model where it manages them, and says so where it does not."""

from __future__ import annotations

import secrets
import shutil
import sqlite3
import subprocess
import sys
from contextlib import closing
from pathlib import Path

import anyio

from counterfoil.cli.demo.desk import Desk, catalogue
from counterfoil.cli.demo.scenes import BEFORE_CANCEL, CANCEL, Scene
from counterfoil.cli.output import Output
from counterfoil.cli.target import Target
from counterfoil.cli.teller import Teller
from counterfoil.cli.words import BAD, DIM, GOOD, WAITS, card
from counterfoil.gate.attempt import Attempt
from counterfoil.gate.gate import Gate
from counterfoil.journal.sqlite import SqliteJournal
from counterfoil.models.model import Model
from counterfoil.models.scripted import Scripted
from counterfoil.run.harness import Harness
from counterfoil.run.replay import replay
from counterfoil.run.run import Run
from counterfoil.types.verdict import Refusal

PATIENCE = 30.0
"""Seconds that the model has for a scene."""
_BODY = 4


class Tour:
    """Plays the scenes over one desk and one journal. `failed` collects what did not come out as it should."""

    def __init__(self, out: Output, folder: Path, model: Model | None) -> None:
        self.out, self.folder, self.model = out, folder, model
        self.desk = Desk(folder / "desk.db")
        self.target = Target(catalogue(folder / "desk.db"))
        self.journal = SqliteJournal(folder / "journal.db")
        self.failed: list[str] = []
        self.managed = self.asked = 0
        """Of how many scenes the real model was asked, and how many it managed."""
        self._number = 0

    async def play(self) -> None:
        """Play everything."""
        for scene in BEFORE_CANCEL:
            await self._scene(scene)
        await self._cancel()
        await self._journal()

    # -- scenes

    async def _scene(self, scene: Scene) -> tuple[Run, Harness]:
        out = self.out
        if scene.title:
            self._title(scene.title)
        if scene.about:
            out.say((scene.about, DIM), indent=_BODY)
        if self.model is not None and not scene.only_scripted:
            self.asked += 1
            harness = self.target.harness(self.journal, self.model)
            run, problem = await self._attempt(scene, harness, PATIENCE)
            if run is not None and problem is None:
                self.managed += 1
                return run, harness
            out.say(
                (f"The model did not manage this one ({problem}). A scripted model takes over:", WAITS), indent=_BODY
            )
        elif self.model is not None:
            out.say((f"({scene.only_scripted})", WAITS), indent=_BODY)
        harness = self.target.harness(self.journal, Scripted(scene.script))
        run, problem = await self._attempt(scene, harness, None)
        if run is None or problem is not None:
            self.failed.append(f"{scene.asked!r}: {problem}")
            raise Broken(problem or "a scripted scene failed")
        return run, harness

    async def _attempt(self, scene: Scene, harness: Harness, seconds: float | None) -> tuple[Run | None, str | None]:
        """Ask once. Returns the run, and what it lacks to be the scene."""
        self.out.say((f"{scene.session.requester}> ", "bold"), scene.asked, indent=_BODY)
        run_id, run = secrets.token_hex(16), None
        teller = Teller(self.out, indent=_BODY + 2)
        with anyio.move_on_after(seconds):
            async for event in harness.stream(scene.asked, scene.session, run_id=run_id, watch=teller.take):
                run = event if isinstance(event, Run) else None
        problem = f"it took longer than {seconds:.0f} s" if run is None and seconds else None
        problem = problem or (scene.missed(run) if run is not None else "it did not end")
        if problem is not None:
            # Nothing of a failed attempt may be left waiting.
            await harness.cancel(run_id, by="the demonstration", reason=problem)
        return run, problem

    async def _cancel(self) -> None:
        out = self.out
        run, harness = await self._scene(CANCEL)
        waiting = run.confirmations[0]
        out.box(card(waiting), indent=_BODY + 2, style=WAITS)
        out.say(("Bob approves it, in a second process that has only the journal:", DIM), indent=_BODY)
        if await self._second_process(waiting.id) != 0:
            self.failed.append("the approval from a second process")
            raise Broken("the second process could not approve")
        out.say(("This process goes on. The gate judges once more, with what ada may do by now:", DIM), indent=_BODY)
        await harness.resume(run.id, watch=Teller(out, indent=_BODY + 2).take)
        out.say(("An approval is good for one call, once:", DIM), indent=_BODY)
        if await self._second_process(waiting.id) == 0:
            self.failed.append("a second approval was accepted")
        done = self.desk.rows("SELECT count(*) AS n FROM cancellations")[0]["n"]
        good = done == 1
        out.say(("In the desk's database: ", DIM), (f"{done} cancellation", GOOD if good else BAD), indent=_BODY)
        if not good:
            self.failed.append(f"{done} cancellations instead of one")

    async def _second_process(self, confirmation_id: str) -> int:
        journal = str(self.folder / "journal.db")
        command = [sys.executable, "-m", "counterfoil", "approve", confirmation_id, "--by", "bob", "--journal", journal]
        short = f"{confirmation_id[:8]}..."
        process = await anyio.open_process(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
        async with process:
            said = b""
            if process.stdout is not None:
                async for chunk in process.stdout:
                    said += chunk
            code = await process.wait()
        self.out.say(
            (f"$ counterfoil approve {short} --by bob", "bold"), (f"   process {process.pid}", DIM), indent=_BODY + 2
        )
        self.out.say((said.decode(errors="replace").strip(), "" if code == 0 else WAITS), indent=_BODY + 2)
        return code

    # -- the journal

    async def _journal(self) -> None:
        out = self.out
        self._title("The journal of it all, verified and replayed")
        runs = list(reversed(await self.journal.runs()))
        records = [await self.journal.read(info.id) for info in runs]
        faults = await self.journal.verify()
        self.failed += faults
        out.say(
            ("changed" if faults else "intact", BAD if faults else GOOD),
            f"     {len(runs)} runs, {sum(map(len, records))} records, each hash follows from the one before",
            indent=_BODY,
        )
        fault = await self._tampered()
        out.say(("found out", GOOD), f"  a copy with one word changed: {fault.partition(': ')[2]}", indent=_BODY)
        replayed = [await replay(each, self.target.catalogue) for each in records]
        differing = [each.run_id for each in replayed if not each.same]
        self.failed += [f"run {run_id} replays differently" for run_id in differing]
        out.say(
            ("differs" if differing else "the same", BAD if differing else GOOD),
            f"   {len(runs)} runs replayed: {sum(each.verdicts for each in replayed)} verdicts, the state to the last "
            "bit; no tool ran",
            indent=_BODY,
        )
        stricter = Gate([_closed_today])
        for each in [await replay(each, self.target.catalogue, stricter) for each in records]:
            for difference in each.differences[:1]:
                out.say(("what if", WAITS), f"    with one more rule: {difference}", indent=_BODY)

    async def _tampered(self) -> str:
        """Change a copy, and let it be found out."""
        copy = self.folder / "tampered.db"
        with closing(sqlite3.connect(self.folder / "journal.db")) as source, closing(sqlite3.connect(copy)) as target:
            source.backup(target)
            with target:
                target.execute(
                    "UPDATE event SET data = CAST(replace(CAST(data AS TEXT), 'by mistake', 'on purpose') AS BLOB)"
                )
        journal = SqliteJournal(copy)
        try:
            faults = await journal.verify()
        finally:
            await journal.aclose()
            for path in self.folder.glob("tampered.db*"):
                shutil.rmtree(path) if path.is_dir() else path.unlink()
        if not faults:
            self.failed.append("a changed copy of the journal verifies")
        return faults[0] if faults else ": nothing was found"

    def _title(self, title: str) -> None:
        self._number += 1
        self.out.say()
        self.out.say((f"{self._number}  {title}", "bold"))


class Broken(Exception):
    """A scene did not come out even with the script: the demonstration cannot go on."""


def _closed_today(attempt: Attempt) -> Refusal | None:
    """A rule for the what-if: no cancelling today."""
    return Refusal("not_permitted", "no cancelling today") if attempt.tool.name == "cancel_order" else None
