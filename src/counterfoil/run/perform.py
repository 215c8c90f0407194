"""Run one tool. Whatever it does, what comes of it is an entry: finished, or in doubt."""

from __future__ import annotations

import logging
import time
import traceback
from typing import TYPE_CHECKING, Any, cast

from counterfoil.run.concurrency import EventLoop, OnWait
from counterfoil.run.secrets import Held, Report, quietly
from counterfoil.run.state import Call
from counterfoil.tools.context import Context, idempotency_key
from counterfoil.tools.result import cut
from counterfoil.tools.secret import SecretLost
from counterfoil.tools.tool import Tool, WithheldOutput
from counterfoil.types.entry import Doubted, Finished, Started
from counterfoil.types.error import NotApplied, ToolError
from counterfoil.types.message import Text, ToolResult
from counterfoil.types.session import Session
from counterfoil.types.verdict import Allowed

if TYPE_CHECKING:
    from counterfoil.run.handles import Handles
    from counterfoil.run.provenance import Labels

log = logging.getLogger("counterfoil.run")


_UNSEEN = Context(Session(requester="nobody"), "", "")
"""For tools that do not look at it."""


class Performer:
    """Runs the tools of one run within their time. Whatever they do, what comes of it is an entry.

    `held` puts secrets back into arguments, and takes them out of what comes of a call; `labels` says who could have
    written that; `handles` does as `held` does with results that the model is not shown.
    """

    __slots__ = ("handles", "held", "labels", "loop", "run_id", "session")

    def __init__(
        self,
        session: Session,
        run_id: str,
        loop: EventLoop,
        held: Held | None = None,
        labels: Labels | None = None,
        handles: Handles | None = None,
    ) -> None:
        self.session = session
        self.run_id = run_id
        self.loop = loop
        self.held = held
        self.labels = labels
        self.handles = handles

    async def perform(
        self, call: Call, tool: Tool, report: Report | None = None, on_wait: OnWait | None = None
    ) -> Finished | Doubted:
        """Run a tool. Does not raise, except when cancelled from outside."""
        held, loop = self.held, self.loop
        context = _UNSEEN
        if tool.contextual:
            context = Context(
                self.session, self.run_id, call.call.id, report if held is None else quietly(report, held)
            )
            if self.labels is not None and not tool.how.harmless:
                context.label = self.labels.handed_on(call, tool)
        arguments = call.arguments or {}
        began = time.perf_counter()
        seconds = tool.limits.timeout
        if seconds is not None and call.started is not None and tool.effect in ("write", "irreversible"):
            # When that time has passed since it was started, others may say that it has not happened: so after that it
            # may not begin. This process may have stood still, or have waited long for the disk.
            seconds = min(seconds, call.started.at + seconds - time.time())
            if seconds <= 0:
                return Doubted(call.call.id, "its time was over before it could begin")
        try:
            if held is not None:
                arguments = held.reveal(call.call.id, tool, arguments)
            if self.handles is not None:
                arguments = self.handles.real(arguments)
            value = await loop.within(seconds, tool.invoke(arguments, context), on_wait)
            finished = self.finished(call, tool, value, time.perf_counter() - began)
        except (Exception, SystemExit) as error:  # noqa: BLE001 a tool may raise anything; nothing of it may leave the loop
            return self._failed(call, tool, error, time.perf_counter() - began)
        except BaseException as error:
            if not loop.is_stray(error):
                raise
            return self._failed(call, tool, error, time.perf_counter() - began)
        if held is not None:
            held.done(call.call.id)
        return finished

    def finished(self, call: Call, tool: Tool, value: Any, seconds: float | None = None) -> Finished:
        """What came of a call that is known to have returned that. Raises `WithheldOutput`."""
        content = tool.content(value) if self.held is None else self.held.content(tool, value)
        verdict = call.verdict
        if type(verdict) is Allowed and verdict.notes:
            content = (Text("".join(f"[note: {note}]\n" for note in verdict.notes)), *content)
        result, leaves = ToolResult(call.call.id, content, name=call.call.name), None
        # A text of which nothing is declared is an outsider's, unless what it was given by name had other readers.
        if self.labels is not None and (self.handles is not None or type(value) is not str or not tool.how.bare):
            label, leaves = self.labels.result(result, call, tool, value)
            if label is not None:
                result = ToolResult(call.call.id, content, name=call.call.name, label=label)
        finished = Finished(result, seconds, leaves)
        return finished if self.handles is None else self.handles.unseen(finished, call, tool, value)

    def untold(self, call: Call, why: str) -> Finished:
        """What comes of a call whose result nobody will have. `why` is ours: no word of it is an outsider's."""
        finished = Finished(ToolResult(call.call.id, (Text(why),), True, None, call.call.name))
        return finished if self.labels is None else self.labels.erred(finished, call)

    def _failed(self, call: Call, tool: Tool, error: BaseException, seconds: float) -> Finished | Doubted:
        """What came of a call that failed, labelled and hidden like any result where that is more than what it says."""
        entry = _failed(call, tool, error, seconds, self.held)
        if isinstance(entry, Doubted):
            return entry
        error = _alone(error)
        quoted = isinstance(error, ToolError) and not isinstance(error, OwnWords)
        if self.labels is not None:
            entry = self.labels.erred(entry, call, tool.how if quoted else None)
        if self.handles is None or not quoted:
            return entry
        return self.handles.unseen(entry, call, tool, entry.result.text)


class OwnWords(ToolError):
    """An error of which no word is an outsider's: it taints nothing, and is shown whatever the tool is."""


def _failed(
    call: Call, tool: Tool, error: BaseException, seconds: float, held: Held | None = None
) -> Finished | Doubted:
    name, limits = tool.name, tool.limits
    error = _alone(error)
    if isinstance(error, ToolError):
        told = str(error) or f"{name} could not do this."
        if isinstance(error, NotApplied):
            told += " (Nothing was changed.)"
        if held is not None:
            told = held.scrubbed(told)
        return Finished(_error(call, told, limits.result_chars), seconds)
    if isinstance(error, SecretLost):  # it was let go of at the last moment
        return Finished(_error(call, error.refusal.message, limits.result_chars), seconds)
    if isinstance(error, WithheldOutput):
        # The effect happened and was reported, only not in the promised form.
        log.error("%s (call %s): the result was withheld", error, call.call.id)
        told = f"{name} ran, but what it returned was not what it declares, so the result was withheld."
        return Finished(_error(call, told, limits.result_chars), seconds)
    if isinstance(error, TimeoutError):  # ours, or one of the tool's own
        log.warning("%s (call %s) gave no result in time", name, call.call.id)
        told, doubt = f"{name} gave no result in time.", "it did not finish in time"
    else:
        _log_raised(call, tool, error, quiet=held is not None and (held.quiet or tool.secretive))
        told, doubt = f"{name} failed for a reason that is not yours to repair.", "it failed with an unforeseen error"
    if tool.effect in ("write", "irreversible"):
        return Doubted(call.call.id, doubt)
    return Finished(_error(call, told, limits.result_chars), seconds)


def _log_raised(call: Call, tool: Tool, error: BaseException, *, quiet: bool) -> None:
    told = "%s (call %s) raised %s"
    if not quiet:
        log.error(told, tool.name, call.call.id, type(error).__name__, exc_info=error)
        return
    # What it says may quote a secret; where it was raised does not.
    where = "".join(traceback.format_tb(error.__traceback__))
    log.error(told + " (what it said may hold a secret)\n%s", tool.name, call.call.id, type(error).__name__, where)


def _alone(error: BaseException) -> BaseException:
    """The one error in a group, as a task group of the tool's own raises it."""
    if not isinstance(error, BaseExceptionGroup):
        return error
    group = cast("BaseExceptionGroup[BaseException]", error)
    return _alone(group.exceptions[0]) if len(group.exceptions) == 1 else group


def _error(call: Call, told: str, max_chars: int) -> ToolResult:
    return ToolResult(call.call.id, (Text(cut(told, max_chars)),), True, None, call.call.name)


def start(call: Call, tool: Tool, run_id: str, now: float) -> Started:
    """The entry that says a tool is about to run. A tool that only reads has no use for a key."""
    key = "" if tool.effect == "read" else idempotency_key(run_id, call.call.id)
    return Started(call.call.id, tool.effect, key, now)
