"""What is marked `Secret` on its way through a run: kept in this process's memory, a placeholder everywhere else.

A placeholder has a keyed digest (HMAC): whoever reads a journal could otherwise find a short secret by trying. Equal
secrets of one requester have equal placeholders, so an approval that is bound to placeholders is bound to the values.

A placeholder becomes its value only where a secret is taken, and only in the run that holds it. So a model may hand on
a secret that it was never shown, but to nobody who does not ask for secrets.
"""

from __future__ import annotations

import hashlib
import hmac
import os
import re
from collections import OrderedDict
from collections.abc import Callable, Iterable, Mapping
from typing import Any, cast

import msgspec

from counterfoil.run.scrub import PLACEHOLDER, has_placeholder, leaves, paths, restored, scrub, spellings
from counterfoil.run.state import State
from counterfoil.tools.catalogue import Catalogue
from counterfoil.tools.result import Content, to_builtins
from counterfoil.tools.secret import SecretLost, by_name
from counterfoil.tools.tool import Tool
from counterfoil.types.entry import Answered, Entry, Judged, Opened
from counterfoil.types.error import ConfirmationError, CounterfoilError
from counterfoil.types.json import canonical
from counterfoil.types.message import Block, Message, Opaque, Reasoning, Text, ToolCall
from counterfoil.types.stream import BlockDelta, BlockStart, BlockStop, StreamEvent
from counterfoil.types.verdict import Refusal

RUNS, VALUES = 1_000, 1_000
"""Of how many runs, and how many secrets of each, this process keeps track: beyond that the oldest are lost."""

_SHORTEST = 4
"""Copies of shorter secrets in other texts are left there: to replace every `7` would help nobody."""
_BROKE = re.compile(r"line \d+, column \d+(, where the text ends: it was cut off)?")


class Secrets:
    """The secrets of all runs that this process works on."""

    def __init__(self, catalogue: Catalogue, key: bytes | None = None) -> None:
        if key is not None and len(key) < 16:
            raise CounterfoilError("secrets_key must have 16 bytes or more, like os.urandom(32)")
        self._key = key or os.urandom(32)
        self._tools = catalogue.by_name
        self._names = catalogue.secret_names if catalogue.secretive else frozenset[str]()
        self._runs: OrderedDict[str, Held] = OrderedDict()

    def of(self, run_id: str, requester: str, tools: Mapping[str, Tool]) -> Held:
        """The secrets of one run, whose calls are of these tools."""
        held = self._runs.get(run_id)
        if held is None or held.requester != requester:
            held = self._runs[run_id] = self.apart(requester)
        held.tools = tools
        self._runs.move_to_end(run_id)
        while len(self._runs) > RUNS:
            self._runs.popitem(last=False)
        return held

    def apart(self, requester: str) -> Held:
        """A place for secrets that nobody will ask for again."""
        return Held(self._key, requester, self._tools, self._names)

    def keep(self, run_id: str, held: Held) -> None:
        """Have these be the secrets of a run."""
        self._runs[run_id] = held

    def forget(self, run_id: str) -> None:
        """Let go of a run's secrets: it is done."""
        self._runs.pop(run_id, None)


class Held:
    """The secrets of one run."""

    def __init__(self, key: bytes, requester: str, tools: Mapping[str, Tool], names: frozenset[str]) -> None:
        self.requester = requester
        self.tools = tools
        self._names = names
        """Under which secrets are taken: a call of a tool that is not there may have written them too."""
        self._key = key
        self._values: OrderedDict[str, Any] = OrderedDict()
        self._calls: dict[str, tuple[dict[str, Any], dict[str, Any]]] = {}
        """Per call: its arguments as they are journalled, and as the model wrote them."""
        self._spelt: list[tuple[str, str]] | None = None
        """Every spelling of every secret, until there is another one."""

    # -- out of sight

    def admit(self, message: Message) -> Message:
        """A message without its secrets, which are held from now on."""
        blocks = [self.veiled(block) for block in message.blocks]
        if self._values:
            # The same secret may stand beside the call: in prose, or in what a provider keeps of the call for itself.
            blocks = [self._scrubbed_block(block) for block in blocks]
        for before, after in zip(message.blocks, blocks, strict=True):
            if not (isinstance(before, ToolCall) and isinstance(after, ToolCall)):
                continue
            real, shown = before.arguments, after.arguments
            if real and shown and (real != shown or has_placeholder(real)):
                self._calls[after.id] = (shown, real)
        return msgspec.structs.replace(message, blocks=tuple(blocks), ext=self.scrubbed(message.ext))

    def veiled(self, block: Block) -> Block:
        """A call with placeholders where its tool takes secrets; any other block as it is."""
        if not isinstance(block, ToolCall):
            return block
        tool = self.tools.get(block.name)
        if tool is not None and tool.secrets is None:
            return block
        if block.arguments is None:
            # It could not be read, so nobody can say where in it a secret is.
            broke = _BROKE.search(block.parse_error or "")
            at = f" (at {broke[0]})" if broke else ""
            raw = None if block.raw is None else self._put(block.raw)
            error = f"it is not one JSON object{at}; it is not shown, because it may hold a secret"
            return msgspec.structs.replace(block, raw=raw, parse_error=error)
        places = None if tool is None else tool.secrets
        put = self._put
        hidden = by_name(block.arguments, self._names, put) if places is None else places.replace(block.arguments, put)
        if hidden == block.arguments:
            return block
        raw = str(hidden.get("input", "")) if block.kind == "custom" else None
        return msgspec.structs.replace(block, arguments=hidden, raw=raw)

    def shown(self, block: Block) -> Block:
        """A block as those who watch may see it."""
        return self._scrubbed_block(self.veiled(block))

    def masked(self, tool: Tool, arguments: dict[str, Any]) -> dict[str, Any]:
        """Arguments that somebody changed, with placeholders where they have secrets now."""
        masked: dict[str, Any] = arguments
        if tool.secrets is not None:
            masked = self.scrubbed(tool.secrets.replace(arguments, self._put))
        return masked

    def taken_up(self, entry: Entry, state: State) -> Entry:
        """An entry of what came from outside: arguments that a person wrote may have a secret in them too."""
        if not isinstance(entry, Answered) or entry.arguments is None:
            return entry
        tool = self.tools.get(state.calls[entry.call_id].call.name)
        return entry if tool is None else msgspec.structs.replace(entry, arguments=self.masked(tool, entry.arguments))

    def content(self, tool: Tool, value: Any) -> Content:
        """What a tool returned, without secrets. Those that its return type marks are held from now on."""
        places = tool.secret_result

        def veil(value: Any) -> Any:
            return self.scrubbed(value if places is None else places.replace(value, self._put))

        if isinstance(value, str):
            value = self.scrubbed(value)
        content = tool.content(value, None if places is None else veil)
        return tuple([self.scrub_text(block) if isinstance(block, Text) else block for block in content])

    def plain(self, tool: Tool, value: Any) -> Any:
        """The same as plain JSON values, and uncut."""
        places, value = tool.secret_result, to_builtins(value)
        return self.scrubbed(value if places is None else places.replace(value, self._put))

    def scrub_text(self, block: Text) -> Text:
        """Prose without secrets that are held."""
        text = self.scrubbed(block.text)
        return block if text == block.text else msgspec.structs.replace(block, text=text)

    def scrubbed(self, value: Any) -> Any:
        """A JSON value in which no string has a secret that is held."""
        if not self._values:
            return value
        if self._spelt is None:  # the longest first: one secret may be part of another
            self._spelt = sorted(self._forms(), key=lambda form: len(form[0]), reverse=True)
        return scrub(value, self._spelt)

    @property
    def quiet(self) -> bool:
        """Whether what a tool raises may quote a secret."""
        return bool(self._values)

    # -- back in their places

    def reveal(self, call_id: str, tool: Tool, arguments: dict[str, Any]) -> dict[str, Any]:
        """The arguments as the tool is to have them. Raises `SecretLost`."""
        pair = self._calls.get(call_id)
        if pair is None and has_placeholder(arguments):
            raise lost(tool.name)  # another process took the call in
        real = arguments if pair is None else restored(arguments, *pair)
        if tool.secrets is None:
            return real

        def take(value: Any) -> Any:
            if isinstance(value, str) and PLACEHOLDER.fullmatch(value):
                if value not in self._values:
                    raise lost(tool.name)
                return self._values[value]
            return value

        revealed: dict[str, Any] = tool.secrets.replace(real, take)
        return revealed

    def refusal(self, call_id: str, tool: Tool, arguments: dict[str, Any] | None) -> Refusal | None:
        """Why a call that was let through cannot run all the same: what it needs is not held any more."""
        try:
            self.reveal(call_id, tool, arguments or {})
        except SecretLost as error:
            return error.refusal
        return None

    def done(self, call_id: str) -> None:
        """Let go of what one call wrote."""
        self._calls.pop(call_id, None)

    def _put(self, value: Any) -> Any:
        if isinstance(value, str) and PLACEHOLDER.fullmatch(value):
            return value
        digest = hmac.new(self._key, canonical([self.requester, value]), hashlib.sha256).hexdigest()
        placeholder = f"[secret {digest[:20]}]"
        self._values[placeholder] = value
        self._spelt = None
        while len(self._values) > VALUES:
            self._values.popitem(last=False)
        return placeholder

    def _forms(self) -> Iterable[tuple[str, str]]:
        """Every way in which a secret may be written in another text, and its placeholder."""
        for placeholder, value in list(self._values.items()):
            for leaf in leaves(value):
                for form in spellings(leaf):
                    if len(form) >= _SHORTEST:
                        yield form, placeholder

    def _scrubbed_block(self, block: Block) -> Block:
        match block:
            case Text():
                return self.scrub_text(msgspec.structs.replace(block, ext=self.scrubbed(block.ext)))
            case ToolCall(arguments=arguments, raw=raw):
                changed = self.scrubbed(arguments)
                if changed != arguments and raw is not None and block.kind == "function":
                    raw = None
                return msgspec.structs.replace(
                    block,
                    arguments=changed,
                    raw=self.scrubbed(raw),
                    parse_error=self.scrubbed(block.parse_error),
                    provider_id=self.scrubbed(block.provider_id),
                    ext=self.scrubbed(block.ext),
                )
            case Reasoning():
                clean = msgspec.structs.replace(block, text=self.scrubbed(block.text), ext=self.scrubbed(block.ext))
                # Its provider has signed what it was.
                return block if clean == block else msgspec.structs.replace(clean, signature=None, redacted=None)
            case Opaque():
                return msgspec.structs.replace(block, data=self.scrubbed(block.data))
            case _:
                return block


class Listener:
    """Lets a stream through without secrets: of a call that may hold one nothing is heard until it is whole."""

    def __init__(self, held: Held) -> None:
        self._held = held
        self._calls: set[int] = set()

    def heard(self, event: StreamEvent) -> StreamEvent | None:
        """The event as others may see it; nothing: they may not."""
        match event:
            case BlockStart(index, ToolCall(name=name)):
                tool = self._held.tools.get(name)
                if tool is None or tool.secrets is not None:
                    self._calls.add(index)
            case BlockDelta(index) if index in self._calls:
                return None
            case BlockDelta(index, text):
                return BlockDelta(index, self._held.scrubbed(text))
            case BlockStop(index, block):
                return BlockStop(index, self._held.shown(block))
            case _:
                pass
        return event


class Recorded(Held):
    """Stands in where a recorded run is replayed: its secrets are not known, and what hung on them is as it was."""

    def __init__(self, entries: Iterable[Entry]) -> None:
        super().__init__(b"", "", {}, frozenset())
        self._refused: dict[str, list[Refusal | None]] = {}
        for entry in entries:
            if isinstance(entry, Opened):
                self.requester = entry.session.requester
            elif isinstance(entry, Judged):
                verdict = entry.verdict
                hung = isinstance(verdict, Refusal) and verdict.code in ("bad_arguments", "expired")
                self._refused.setdefault(entry.call_id, []).append(cast("Refusal", verdict) if hung else None)

    def admit(self, message: Message) -> Message:
        """The message, which has placeholders by now."""
        return message

    def reveal(self, call_id: str, tool: Tool, arguments: dict[str, Any]) -> dict[str, Any]:
        """The arguments, placeholders and all, unless they were refused at this point. Raises `SecretLost`."""
        verdicts = self._refused.get(call_id, [])
        if has_placeholder(arguments) and verdicts and (refusal := verdicts[0]) is not None:
            raise SecretLost(refusal)
        return arguments

    def refusal(self, call_id: str, tool: Tool, arguments: dict[str, Any] | None) -> Refusal | None:
        """Why it was not run after all, if it was not."""
        return self._refused.get(call_id, [None])[-1] if has_placeholder(arguments) else None

    def content(self, tool: Tool, value: Any) -> Content:
        """What was recorded."""
        return tool.content(value)


def lost(name: str) -> SecretLost:
    """Say to the model that a secret is gone, and what to do."""
    return SecretLost(
        Refusal(
            "expired",
            f"{name} was not run: its secret arguments were lost with the process that held them, or are none that "
            "this run has been given. Ask for them again, and call it with the values themselves.",
        )
    )


def refuse_edit(call: ToolCall, edited: dict[str, Any] | None, named: Iterable[str], tool: Tool | None) -> None:
    """Raise `ConfirmationError` if edited arguments differ from the call's in a secret, or one is `named` in a pattern.

    What a person writes is journalled as it is. Where the tool is not known, a call with secrets takes no new names.
    """
    shown = call.arguments or {}
    secrets = None if tool is None else tool.secrets
    if any(has_placeholder(shown.get(name)) or (secrets and secrets.names_at_top(name)) for name in named):
        raise ConfirmationError("a standing approval cannot say what a secret argument may be: leave it out")
    if edited is None:
        return
    if secrets is not None:
        same = secrets.found(shown) == secrets.found(edited)
    elif tool is None and has_placeholder(shown):
        before, after = dict(paths(shown)), dict(paths(edited))
        same = set(after) <= set(before) and all(
            after.get(path) == value for path, value in before.items() if has_placeholder(value)
        )
    else:
        same = True
    if not same:
        raise ConfirmationError(
            "a secret argument cannot be edited: leave it as it is shown, or decline the call and say what to do"
        )


Report = Callable[[str, float | None], Any]


def quietly(report: Report | None, held: Held) -> Report | None:
    """Progress of which no word is a secret that is held."""
    if report is None:
        return None
    return lambda message, fraction: report(held.scrubbed(message), fraction)
