"""What opaque tools return, kept from the model: the journal has the value, the context only its name.

The line that the model reads is made of the tool's name and the number of the call. Not even the length of the value is
in it: so long as it is not read, nothing that an outsider writes can make any difference to what the model is asked.
"""

from __future__ import annotations

import logging
from typing import Any, cast

import msgspec

from counterfoil.gate.attempt import Attempt
from counterfoil.gate.handed import Handed
from counterfoil.run.secrets import Held
from counterfoil.run.state import Call, State
from counterfoil.tools.secret import SecretLost
from counterfoil.tools.tool import Tool
from counterfoil.tools.trust import is_opaque
from counterfoil.types.entry import Finished
from counterfoil.types.handle import Handle, name_of, names_in, quoted_in, told
from counterfoil.types.label import Label
from counterfoil.types.message import Media, Text, ToolResult
from counterfoil.types.verdict import Allowed, Refusal

log = logging.getLogger("counterfoil.run")

_AT_ONCE = 20
"""How many names a model is told of that wrote one that is not there."""


class Handles:
    """The unseen results of one run."""

    def __init__(self, state: State) -> None:
        self._state = state

    # -- into calls

    def hand(self, attempt: Attempt, held: Held | None) -> Refusal | None:
        """Have a call be judged by what its arguments stand for. Says why not, where a name stands for nothing.

        An approval is bound to the names. That binds the values: a name is that of a call of this run, whose id and
        digest has the run in it, and a call has one result, which nothing changes or replaces.
        """
        written, handles = attempt.arguments, self._state.handles
        names = set(names_in(written))
        if held is not None:
            try:
                secret = set(names_in(held.reveal(attempt.call.id, attempt.tool, written))) - names
            except SecretLost as gone:
                return gone.refusal
            if secret:
                return _refused(attempt.tool, "takes a secret where a result stands that was not shown", "")
        if unknown := sorted(names - handles.keys()):
            there = f" There are {', '.join(list(handles)[-_AT_ONCE:])}." if handles else " There is none yet."
            return _refused(attempt.tool, f"was given {', '.join(unknown)}, and no result has that name", there)
        if quoted := sorted(set(quoted_in(written, handles))) if handles else []:
            return _refused(
                attempt.tool, f"has {', '.join(quoted)} inside a longer text, where it stands for nothing", ""
            )
        if names:
            attempt.hand(Handed(written, handles))
        return None

    def real(self, arguments: dict[str, Any]) -> dict[str, Any]:
        """The arguments as a tool is to have them."""
        handles = self._state.handles
        return Handed(arguments, handles).real if handles else arguments

    # -- out of results

    def unseen(self, finished: Finished, call: Call, tool: Tool, value: Any) -> Finished:
        """A result as it is journalled: of an opaque tool it says no more than that it is there."""
        if not is_opaque(tool.trust):
            return finished
        result = finished.result
        noted = type(call.verdict) is Allowed and call.verdict.notes and not result.is_error
        content = result.content[1:] if noted else result.content
        texts = [block.text for block in content if isinstance(block, Text)]
        if len(texts) < len(content):
            log.error("%s (call %s) is opaque and returned more than text: it was withheld", tool.name, call.call.id)
            said = f"{tool.name} ran, but what it returned cannot be kept, since it is neither text nor JSON."
            return Finished(_line(result, (), said, is_error=True), finished.seconds)
        name = name_of(list(self._state.calls).index(call.call.id) + 1)
        whole = "\n".join(texts)
        kept = whole if _is_text(value) else _decoded(whole)
        handle = Handle(name, told(tool.name, call.arguments or {}), kept, result.label)
        said = (
            f"{tool.name} could not do this: {name} is what it said"
            if result.is_error
            else f"{name} is what {tool.name} returned"
        )
        said += f'. It is not shown, because others can write it. Pass "{name}" as a whole argument to hand it on.'
        shown = _line(result, result.content[:1] if noted else (), said, is_error=result.is_error)
        return msgspec.structs.replace(finished, result=shown, handle=handle)


def _line(result: ToolResult, notes: tuple[Any, ...], said: str, *, is_error: bool) -> ToolResult:
    name = result.name or ""
    return ToolResult(result.call_id, (*notes, Text(said)), is_error, None, name, Label("system", name))


def _refused(tool: Tool, why: str, there: str) -> Refusal:
    return Refusal(
        "bad_arguments",
        f"{tool.name} was not run: it {why}.{there} A name like $v1 stands for a result that is not shown. It must be "
        "a whole argument, as it was given to you.",
    )


def _is_text(value: Any) -> bool:
    """Whether a tool returned text, and no JSON."""
    if isinstance(value, list | tuple):
        blocks = cast("list[Any]", value)
        return bool(blocks) and all(isinstance(each, Text | Media) for each in blocks)
    return isinstance(value, str | Text | Media)


def _decoded(text: str) -> Any:
    """JSON as a value; what was cut, as the text that is left."""
    try:
        return msgspec.json.decode(text)
    except msgspec.DecodeError:
        return text
