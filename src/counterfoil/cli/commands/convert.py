"""`counterfoil convert`: a request, a reply or a stream in another provider's format."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Iterable
from pathlib import Path
from typing import Any, Literal

import msgspec

from counterfoil import wires
from counterfoil.cli.options import Commands, command
from counterfoil.cli.output import Output
from counterfoil.cli.problem import Problem
from counterfoil.models.framing import ENDS, FRAMES, decode, write_frame
from counterfoil.models.hosts import HOSTS, Framing
from counterfoil.types.error import WireError
from counterfoil.types.loss import Loss
from counterfoil.types.message import Message
from counterfoil.types.request import Reply
from counterfoil.types.stream import StreamEvent, fold
from counterfoil.wires.wire import NO_PLAN, Plan, Wire

EXAMPLES = """
counterfoil convert --from openai-chat --to anthropic < request.json
counterfoil convert --from anthropic --to gemini --model gemini-pro < request.json
curl -sN ... | counterfoil convert --from bedrock --to openai-chat         # a stream stays one
counterfoil convert --from openai-chat --to bedrock --write-plan plan.json < request.json > other.json
counterfoil convert --from bedrock --to openai-chat --read-plan plan.json < reply.json
"""

Kind = Literal["request", "reply", "stream"]

_ASKED = frozenset({"messages", "contents", "input"})
"""A request has one of these, in every wire; no reply has any."""
FRAMINGS: dict[str, Framing] = {host.wire: host.framing for host in HOSTS.values()}


def add(commands: Commands) -> None:
    """Add the command."""
    parser = command(
        commands, "convert", "say a request, reply or stream in another provider's format; what is lost is told",
        EXAMPLES, journal=False, json=False,
    )  # fmt: skip
    known = ", ".join(wires.names())
    parser.add_argument("--from", dest="source", metavar="WIRE", required=True, help=f"the format read: {known}")
    parser.add_argument("--to", dest="target", metavar="WIRE", required=True, help="the format written")
    parser.add_argument(
        "--kind", choices=("request", "reply", "stream"), help="what it is (default: seen from its first bytes)"
    )
    parser.add_argument("--model", metavar="NAME", help="the model that the request is for now")
    parser.add_argument("--write-plan", metavar="PATH", help="keep what reverses the new names and ids of a request")
    parser.add_argument("--read-plan", metavar="PATH", help="reverse names and ids of a reply by a plan that was kept")
    parser.add_argument("--lossless", action="store_true", help="exit with 1 if anything was lost")
    parser.set_defaults(run=run)


def run(options: argparse.Namespace, out: Output) -> int:
    """Convert what comes in."""
    try:
        source, target = wires.get(options.source), wires.get(options.target)
    except WireError as error:
        raise Problem(str(error)) from None
    data = _input()
    kind: Kind = options.kind or kind_of(data)
    try:
        written, losses, repairs = _convert(options, kind, data, source, target)
    except WireError as error:
        raise Problem(f"this is no {kind} of {source.NAME}: {error}") from None
    _write(written, out)
    for repair in repairs:
        out.note(f"repaired: {repair}")
    for loss in losses:
        out.note(f"{loss.path}: {loss.what} ({loss.carried})")
    return 1 if losses and options.lossless else 0


def kind_of(data: bytes) -> Kind:
    """What it is: one JSON object is a request or a reply, anything else a stream."""
    try:
        body = msgspec.json.decode(data, type=dict[str, Any])
    except (msgspec.MsgspecError, RecursionError):
        if not data.strip():
            raise Problem("there is nothing to convert: give it on standard input, < request.json") from None
        lines = data.lstrip().splitlines()
        if data.lstrip().startswith(b"{") and not (len(lines) > 1 and lines[0].rstrip().endswith(b"}")):
            try:
                decode(data, "what came in")
            except WireError as error:
                raise Problem(f"{error}. Give one JSON object, or a stream as it came over the line") from None
        return "stream"
    if "done" in body and "message" in body:
        # One line of Ollama's: the whole reply, or a stream of one.
        return "reply"
    return "request" if _ASKED & body.keys() else "reply"


def _convert(
    options: argparse.Namespace, kind: Kind, data: bytes, source: Wire, target: Wire
) -> tuple[bytes, Iterable[Loss], Iterable[str]]:
    plan = _plan(options.read_plan)
    if kind == "request":
        request = source.read_request(decode(data, "the request"), plan)
        if options.model:
            request = msgspec.structs.replace(request, model=options.model)
        said = target.write_request(request)
        if options.write_plan:
            Path(options.write_plan).write_bytes(msgspec.json.encode(said.plan))
        return _pretty(said.body), said.losses, said.repairs
    if kind == "reply":
        reply = source.read_reply(decode(data, "the reply"), plan)
        body = target.write_reply(reply)
        return _pretty(body), reply_losses(reply, target.read_reply(body), target.NAME), ()
    events: list[StreamEvent] = list(source.read_stream(_events(data, source), plan))
    framing = FRAMINGS[target.NAME]
    bodies = list(target.write_stream(events))
    losses = reply_losses(fold(events), fold(target.read_stream(bodies)), target.NAME)
    whole = b"".join([write_frame(framing, body) for body in bodies]) + ENDS.get(target.NAME, b"")
    return whole, losses, ()


def _events(data: bytes, wire: Wire) -> list[dict[str, Any]]:
    events = [event for event in FRAMES[FRAMINGS[wire.NAME]]().feed(data + b"\n\n") if event is not None]
    if not events:
        raise Problem(f"there is no event of {wire.NAME} in this stream")
    return events


def reply_losses(reply: Reply, back: Reply, wire: str) -> list[Loss]:
    """What a reply lost on its way into a wire, found by reading back what was written."""
    losses = [
        Loss(f"/message/blocks/{index}", f"a block of the kind {_kind(block)}", "dropped")
        for index, block in _missing(reply.message, back.message)
    ]
    held = [("", reply.ext), ("/message", reply.message.ext)]
    held += [(f"/message/blocks/{index}", getattr(each, "ext", {})) for index, each in enumerate(reply.message.blocks)]
    for path, ext in held:
        for name, fields in ext.items():
            said = [key for key in fields if not key.startswith("$")]
            if name != wire and said:
                losses.append(Loss(f"{path}/ext/{name}", f"what only {name} says: {', '.join(said)}", "dropped"))
    if reply.usage is not None and back.usage is None:
        losses.append(Loss("/usage", "the tokens that were used", "dropped"))
    return losses


def _missing(message: Message, back: Message) -> list[tuple[int, Any]]:
    """The blocks that have no partner of their kind, in order, in what was read back."""
    found: list[tuple[int, Any]] = []
    rest = [_kind(block) for block in back.blocks]
    for index, block in enumerate(message.blocks):
        kind = _kind(block)
        if kind in rest:
            del rest[: rest.index(kind) + 1]
        elif not (kind == "text" and block.text in back.text):  # type: ignore[union-attr] # a text, by its kind
            found.append((index, block))
    return found


def _kind(block: Any) -> str:
    return str(block.__struct_config__.tag)


def _plan(path: str | None) -> Plan:
    if path is None:
        return NO_PLAN
    try:
        return msgspec.json.decode(Path(path).read_bytes(), type=Plan)
    except msgspec.MsgspecError as error:
        raise Problem(f"{path} holds no plan: {error}. It is what --write-plan kept") from None


def _pretty(body: dict[str, Any]) -> bytes:
    return msgspec.json.format(msgspec.json.encode(body), indent=2) + b"\n"


def _input() -> bytes:
    if sys.stdin.isatty():
        raise Problem("give what is to be converted on standard input: < request.json")
    # A stream may be binary; what stands in for standard input may have text only.
    return sys.stdin.buffer.read() if hasattr(sys.stdin, "buffer") else sys.stdin.read().encode()


def _write(data: bytes, out: Output) -> None:
    if out.terminal:
        try:
            out.say(data.decode().rstrip("\n"))
        except UnicodeDecodeError:
            raise Problem("this stream is binary: send it to a file, > stream.bin") from None
        return
    out.raw(data)
