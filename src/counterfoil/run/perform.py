"""Run one tool. Whatever it does, what comes of it is an entry: finished, or in doubt."""

from __future__ import annotations

import logging
import time
import traceback
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, cast

from counterfoil.run.concurrency import EventLoop, OnWait
from counterfoil.run.secrets import Held, quietly
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
    from counterfoil.run.provenance import Labels

log = logging.getLogger("counterfoil.run")


async def perform(
    call: Call,
    tool: Tool,
    session: Session,
    run_id: str,
    loop: EventLoop,
    report: Callable[[str, float | None], Any] | None = None,
    on_wait: OnWait | None = None,
    held: Held | None = None,
    labels: Labels | None = None,
) -> Finished | Doubted:
    """Run a tool within its time. Does not raise, except when cancelled from outside.

    `held` puts secrets back into its arguments, and takes them out of what comes of it; `labels` says who could have
    written that.
    """
    context = Context(session, run_id, call.call.id, report if held is None else quietly(report, held))
    if labels is not None:
        context.label = labels.handed_on(call, tool)
    arguments = call.arguments or {}
    began = time.perf_counter()
    seconds = tool.limits.timeout
    if seconds is not None and call.started is not None and tool.effect in ("write", "irreversible"):
        # When that time has passed since it was started, others may say that it has not happened: so after that it may
        # not begin. This process may have stood still, or have waited long for the disk.
        seconds = min(seconds, call.started.at + seconds - time.time())
        if seconds <= 0:
            return Doubted(call.call.id, "its time was over before it could begin")
    try:
        if held is not None:
            arguments = held.reveal(call.call.id, tool, arguments)
        value = await loop.within(seconds, tool.invoke(arguments, context), on_wait)
        content = tool.content(value) if held is None else held.content(tool, value)
    except (Exception, SystemExit) as error:  # noqa: BLE001 a tool may raise anything; nothing of it may leave the loop
        return _failed(call, tool, error, time.perf_counter() - began, held)
    except BaseException as error:
        if not loop.is_stray(error):
            raise
        return _failed(call, tool, error, time.perf_counter() - began, held)
    verdict = call.verdict
    if type(verdict) is Allowed and verdict.notes:
        content = (Text("".join(f"[note: {note}]\n" for note in verdict.notes)), *content)
    if held is not None:
        held.done(call.call.id)
    finished = Finished(ToolResult(call.call.id, content, name=call.call.name), time.perf_counter() - began)
    return finished if labels is None else labels.labelled(finished, call, tool, value)


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
