"""Run one tool. Whatever it does, what comes of it is an entry: finished, or in doubt."""

from __future__ import annotations

import logging
import time
from collections.abc import Callable
from typing import Any, cast

from counterfoil.run.concurrency import EventLoop, OnWait
from counterfoil.run.state import Call
from counterfoil.tools.context import Context, idempotency_key
from counterfoil.tools.result import cut
from counterfoil.tools.tool import Tool, WithheldOutput
from counterfoil.types.entry import Doubted, Finished, Started
from counterfoil.types.error import NotApplied, ToolError
from counterfoil.types.message import Text, ToolResult
from counterfoil.types.session import Session
from counterfoil.types.verdict import Allowed

log = logging.getLogger("counterfoil.run")


async def perform(
    call: Call,
    tool: Tool,
    session: Session,
    run_id: str,
    loop: EventLoop,
    report: Callable[[str, float | None], Any] | None = None,
    on_wait: OnWait | None = None,
) -> Finished | Doubted:
    """Run a tool within its time. Does not raise, except when cancelled from outside."""
    context = Context(session, run_id, call.call.id, report)
    arguments = call.arguments or {}
    began = time.perf_counter()
    try:
        value = await loop.within(tool.limits.timeout, tool.invoke(arguments, context), on_wait)
        content = tool.content(value)
    except (Exception, SystemExit) as error:  # noqa: BLE001 a tool may raise anything; nothing of it may leave the loop
        return _failed(call, tool, error, time.perf_counter() - began)
    except BaseException as error:
        if not loop.is_stray(error):
            raise
        return _failed(call, tool, error, time.perf_counter() - began)
    verdict = call.verdict
    if type(verdict) is Allowed and verdict.notes:
        content = (Text("".join(f"[note: {note}]\n" for note in verdict.notes)), *content)
    name = call.call.name
    return Finished(ToolResult(call.call.id, content, name=name), time.perf_counter() - began)


def _failed(call: Call, tool: Tool, error: BaseException, seconds: float) -> Finished | Doubted:
    name, limits = tool.name, tool.limits
    error = _alone(error)
    if isinstance(error, ToolError):
        told = str(error) or f"{name} could not do this."
        if isinstance(error, NotApplied):
            told += " (Nothing was changed.)"
        return Finished(_error(call, told, limits.result_chars), seconds)
    if isinstance(error, WithheldOutput):
        # The effect happened and was reported, only not in the promised form.
        log.error("%s (call %s): the result was withheld", error, call.call.id)
        told = f"{name} ran, but what it returned was not what it declares, so the result was withheld."
        return Finished(_error(call, told, limits.result_chars), seconds)
    if isinstance(error, TimeoutError):  # ours, or one of the tool's own
        log.warning("%s (call %s) gave no result in time", name, call.call.id)
        told, doubt = f"{name} gave no result in time.", "it did not finish in time"
    else:
        log.error("%s (call %s) raised %s", name, call.call.id, type(error).__name__, exc_info=error)
        told, doubt = f"{name} failed for a reason that is not yours to repair.", "it failed with an unforeseen error"
    if tool.effect in ("write", "irreversible"):
        return Doubted(call.call.id, doubt)
    return Finished(_error(call, told, limits.result_chars), seconds)


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
