"""`counterfoil chat`: a conversation in the terminal, confirmations asked in place."""

from __future__ import annotations

import argparse
import functools
import importlib
import secrets
import sys
import traceback
from collections.abc import Awaitable, Callable
from contextlib import AsyncExitStack, suppress
from typing import Any

from anyio.from_thread import start_blocking_portal

from counterfoil.cli.batches import PAGE, answer_all, how_to_answer, show_batch, show_more, tell_errors
from counterfoil.cli.commands.call import ended, journal_of, loaded
from counterfoil.cli.interrupts import Interrupts
from counterfoil.cli.journals import SHORT, answering, find_run
from counterfoil.cli.options import Commands, command, object_of, session_arguments, session_of, target_argument
from counterfoil.cli.output import Output
from counterfoil.cli.problem import Problem, sentence
from counterfoil.cli.target import Target, load_target
from counterfoil.cli.teller import Teller
from counterfoil.cli.words import DIM, NAME, WAITS
from counterfoil.run.harness import Harness
from counterfoil.run.run import Confirmation, Run, batched
from counterfoil.types.error import CounterfoilError, RunNotFound
from counterfoil.types.session import Budget, Session

EXAMPLES = """
counterfoil chat counterfoil.cli.demo.desk:catalogue --as ada --permission orders:read
counterfoil chat shop:catalogue --as ada --permission orders:read --model local:needle
counterfoil chat shop:harness --as ada --permission 'orders:*' --run 3f9c1a    # go on with a conversation
"""
_HELP = """/tools   the tools and what they need
/resume  go on with a run that waited for somebody else
/new     begin a new conversation
/quit    end (also Ctrl-D); Ctrl-C cancels what is being done and nothing else"""


def add(commands: Commands) -> None:
    """Add the command."""
    parser = command(commands, "chat", "talk to a model that may call your tools", EXAMPLES, json=False)
    target_argument(parser)
    session_arguments(parser)
    parser.add_argument(
        "--model", metavar="SPEC", help="local, local:needle, local:PATH (default: the Harness's, else local)"
    )
    parser.add_argument("--turns", metavar="N", type=int, default=16, help="model turns per message (default: 16)")
    parser.add_argument("--run", dest="run_id", metavar="RUN", help="go on with this run")
    parser.set_defaults(run=run)


def run(options: argparse.Namespace, out: Output) -> int:
    """Talk until the person ends it."""
    if not (sys.stdin.isatty() and out.terminal):
        raise Problem(
            "chat needs a terminal to talk in. Run it in one, or send single calls with: "
            "counterfoil call module:attribute TOOL JSON"
        )
    session = session_of(options, Budget(turns=options.turns))
    target = load_target(options.catalogue)
    with suppress(ImportError):
        importlib.import_module("readline")  # line editing and history, where Python has it
    with start_blocking_portal() as portal, Interrupts(portal) as interrupts:
        chat = _Chat(options, out, session, target, interrupts)
        chat.begin()
        try:
            return chat.talk()
        finally:
            chat.end()


class _Chat:
    """One session in the terminal: a conversation is one run, and each message goes on with it."""

    def __init__(
        self, options: argparse.Namespace, out: Output, session: Session, target: Target, interrupts: Interrupts
    ) -> None:
        self._options, self._out, self._session, self._target = options, out, session, target
        self._interrupts, self._do = interrupts, interrupts.do
        self._stack = AsyncExitStack()
        self._harness: Harness | None = None
        self._run_id: str | None = None
        self._waits = False

    @property
    def harness(self) -> Harness:
        """The harness, once `begin` has made it."""
        assert self._harness is not None
        return self._harness

    def begin(self) -> None:
        """Open the journal and load the model."""
        options, out = self._options, self._out

        async def make() -> None:
            journal = await journal_of(self._stack, options, self._target)
            wanted = options.model or (None if self._target.model else "local")
            model = await loaded(wanted, out) if wanted else None
            self._harness = self._target.harness(journal, model)
            if options.run_id:
                info = await find_run(journal, options.run_id)
                self._run_id = info.id
                self._waits = bool((await self._harness.read(info.id)).state.open)

        self._do(make)
        held = ", ".join(sorted(self._session.permissions)) or "nothing (see --permission)"
        model = self.harness.model
        assert model is not None, "a model was loaded above"
        out.say((model.name, "bold"), f"  for {self._session.requester}, who may: {held}")
        out.say(("/help for what else there is; Ctrl-C cancels a turn, Ctrl-D ends", DIM))

    def end(self) -> None:
        """Close what `begin` opened."""
        with suppress(TimeoutError):
            self._interrupts.finish(self._stack.aclose)
        if self._run_id:
            self._out.say((f"journalled as run {self._run_id[:SHORT]}: counterfoil show {self._run_id[:SHORT]}", DIM))

    def _ask(self, question: str) -> str:
        return self._out.ask(question, self._interrupts.line).strip()

    def talk(self) -> int:
        """Read and answer, message by message."""
        out = self._out
        while True:
            try:
                text = self._ask(f"\n{self._session.requester}> ")
            except EOFError:
                out.say()
                return 0
            except KeyboardInterrupt:
                out.say("  (Ctrl-D or /quit ends)")
                continue
            if text in ("/quit", "/exit"):
                return 0
            if not text:
                continue
            try:
                self._message(text)
            except KeyboardInterrupt:
                self._cancelled()
            except CounterfoilError as error:
                out.error(sentence(error))
            except Exception as error:  # noqa: BLE001 - a fault in a turn must not end the session
                if self._options.debug:
                    traceback.print_exception(error)
                out.error(sentence(error, self._options.debug))
                self._cancelled()

    def _message(self, text: str) -> None:
        out = self._out
        if text == "/help":
            out.say(_HELP, indent=2)
        elif text == "/tools":
            for tool in self.harness.catalogue:
                held = self._session.permits(tool.permission)
                out.say(
                    (tool.name, NAME if held else DIM),
                    f"  {tool.effect}",
                    ("" if held else f"  needs {tool.permission}", DIM),
                    indent=2,
                )
        elif text == "/new":
            self._run_id, self._waits = None, False
            out.say(("a new conversation", DIM))
        elif text == "/resume":
            self._resume()
        elif text.startswith("/"):
            out.say(f"there is no {text.split()[0]}: /help lists what there is")
        elif self._waits:
            out.say(("this conversation waits for an answer: /resume once it is given, /new for another", WAITS))
        else:
            self._go_on(lambda teller: self._turn(text, teller))

    def _resume(self) -> None:
        if self._run_id is None:
            self._out.say("there is nothing to resume yet")
        else:
            self._go_on(self._again)

    async def _turn(self, text: str, teller: Teller) -> Run:
        run: Any = None
        # The run's id is known before it begins, so that it can be cancelled at any moment.
        self._run_id = self._run_id or secrets.token_hex(16)
        async for event in self.harness.stream(text, self._session, run_id=self._run_id, watch=teller.take):
            run = event
        assert isinstance(run, Run), "a stream ends with its run"
        return run

    async def _again(self, teller: Teller) -> Run:
        assert self._run_id is not None
        run: Any = None
        async for event in self.harness.resume_stream(self._run_id, watch=teller.take):
            run = event
        assert isinstance(run, Run), "a stream ends with its run"
        return run

    def _go_on(self, work: Callable[[Teller], Awaitable[Run]]) -> None:
        """Do a turn, and go on as long as the person answers what it asks."""
        while True:
            teller = Teller(self._out)
            run = self._do(functools.partial(work, teller))
            self._waits = bool(run.state.open)
            if not run.confirmations:
                if run.outcome.kind != "answered":
                    ended(run, self._out, self._options.catalogue)
                return
            with suppress(EOFError):  # as if "later" were said to all that is left
                for batch in run.batches:
                    self._decide(batch)
            waiting = self._do(functools.partial(self.harness.confirmations, run.id))
            if waiting:
                self._out.say(("it waits: answer it from another terminal, then /resume", WAITS))
                for batch in batched(waiting):
                    how_to_answer(batch, self._out, shown=False)
                return
            work = self._again

    def _decide(self, batch: list[Confirmation]) -> None:
        """Ask the person here about calls that one answer may do for. All are shown before all can be approved."""
        if len(batch) == 1:
            self._decide_one(batch[0])
            return None
        out, number, shown = self._out, len(batch), min(PAGE, len(batch))
        show_batch(batch, out, indent=4, page=shown)
        while True:
            left = number - shown
            first = f"[m]ore ({shown} of {number} shown)" if left else f"[y]es to all {number}"
            said = self._ask(f"    {first}, [n]o to all, [o]ne by one, or [l]ater? ").lower()
            if said in ("m", "more") and left:
                shown = show_more(batch, shown, out, indent=4)
            elif said in ("y", "yes") and left:
                out.say((f"{left} of them have not been shown: [m]ore shows them", WAITS), indent=4)
            elif said in ("y", "yes"):
                return self._send(batch, approve=True)
            elif said in ("n", "no"):
                return self._send(batch, approve=False, reason=self._ask("    why (the model reads it)? "))
            elif said in ("o", "one"):
                for each in batch:
                    self._decide_one(each)
                return None
            elif said in ("l", "later"):
                return None

    def _decide_one(self, waiting: Confirmation) -> None:
        """Ask the person here about one call."""
        out = self._out
        show_batch([waiting], out, indent=4)
        while True:
            said = self._ask("    [y]es, [n]o, [e]dit the arguments, or [l]ater? ").lower()
            try:
                if said in ("y", "yes"):
                    return self._send([waiting], approve=True)
                if said in ("n", "no"):
                    return self._send([waiting], approve=False, reason=self._ask("    why (the model reads it)? "))
                if said in ("e", "edit"):
                    edited = object_of(self._ask("    arguments as JSON: "), "the arguments")
                    return self._send([waiting], approve=True, arguments=edited)
                if said in ("l", "later"):
                    return None
            except Problem as error:
                out.error(str(error))

    def _send(self, batch: list[Confirmation], **answer: Any) -> None:
        wanted = [(each.id, each.digest) for each in batch]
        by = self._session.requester
        _, errors = self._do(functools.partial(answer_all, self.harness, wanted, by=by, **answer))
        tell_errors(errors, self._out)

    def _cancelled(self) -> None:
        """Close what the cancelled turn left open, so that the conversation can go on."""
        out, run_id = self._out, self._run_id
        self._interrupts.pressed = False  # pressed again and again, it means one thing
        out.end_live()
        out.say(("cancelled", WAITS))
        if run_id is None:
            return

        async def close() -> Run:
            # With no catalogue nothing can be started on the way.
            return await answering(self.harness.journal).cancel(run_id, by=self._session.requester, reason="Ctrl-C")

        try:
            run = self._interrupts.finish(close)
        except RunNotFound:  # cancelled before it had begun
            self._run_id = None
            return
        except TimeoutError:
            out.error("it does not come to an end: /resume once it has, or /new for another conversation")
            self._waits = True
            return
        except CounterfoilError as error:
            out.error(sentence(error))
            return
        self._waits = bool(run.state.open)
        doubtful = [each for each in run.results.values() if each.code == "in_doubt"]
        for each in doubtful:
            out.say((f"call {each.call_id} ({each.name}) was running: whether it took effect is not known", WAITS))
