"""Write a reply the way its family's models do: the inverse of reading it."""

from __future__ import annotations

from collections.abc import Sequence

from counterfoil.text.cast import Schemas
from counterfoil.text.family import Family
from counterfoil.text.grammars import Unwritable
from counterfoil.text.jsontext import dumps, same
from counterfoil.text.reader import Reader, family_marks
from counterfoil.text.source import markers
from counterfoil.types.json import read_object
from counterfoil.types.message import Block, Reasoning, Text, ToolCall
from counterfoil.types.request import Reply, ToolSpec
from counterfoil.types.stream import ReplyFold


def render(family: Family, reply: Reply, tools: Sequence[ToolSpec] = ()) -> str:
    """Write a reply. What is returned reads back as the same, for a reader that knows the tools.

    Raises `Unwritable` where the family has no way to say something. White space alone is no text, and is left out.
    """
    blocks = normal(reply.message.blocks)
    schemas = Schemas(tools).assuming([block for block in blocks if isinstance(block, ToolCall)])
    text = "".join(_parts(family, blocks, schemas)).removeprefix(family.prefill)
    _check(family, blocks, text, schemas)
    return text


def normal(blocks: Sequence[Block]) -> list[Block]:
    """The blocks as text can say them: neighbours of one kind are one, and white space alone is none."""
    found: list[Block] = []
    for block in blocks:
        if isinstance(block, Text | Reasoning):
            if not block.text.strip():
                continue
            last, kind = found[-1] if found else None, type(block)
            before = last.text if isinstance(last, Text | Reasoning) and isinstance(last, kind) else None
            if before is not None:
                found.pop()
            found.append(kind((before or "") + block.text))
        elif isinstance(block, ToolCall) and block.kind == "function":
            _be_json(block)
            found.append(block)
        else:
            raise Unwritable(f"a {type(block).__name__} block cannot be written as text: leave it out")
    return found


def _be_json(call: ToolCall) -> None:
    if call.arguments is None:
        return
    try:
        read, error = read_object(dumps(call.arguments))
    except (TypeError, ValueError, RecursionError) as wrong:
        read, error = None, str(wrong)
    if read != call.arguments:
        raise Unwritable(f"the arguments of {call.name!r} are not JSON: {error or 'keys are strings, lists are lists'}")


def _parts(family: Family, blocks: Sequence[Block], schemas: Schemas) -> list[str]:
    shielded = markers(*family_marks(family))
    parts: list[str] = []
    after, index = "", 0
    while index < len(blocks):
        block = blocks[index]
        if isinstance(block, ToolCall):
            calls = [block]
            while index + 1 < len(blocks) and isinstance(more := blocks[index + 1], ToolCall):
                calls.append(more)
                index += 1
            if after == "text" or (family.calls.reads_all and after):
                parts.append(family.gap)
            parts.append(family.calls.write(calls, schemas, shielded))
            after = "call"
        elif isinstance(block, Reasoning):
            marks = family.reasoning
            if family.calls.reads_all and after:
                parts.append(family.gap)
            parts.append(f"{marks.open}{block.text}{marks.close}{marks.after}")
            after = "reasoning"
        elif isinstance(block, Text):
            if after == "call" or (family.calls.reads_all and after):
                parts.append(family.gap)
            last = index == len(blocks) - 1
            parts.append(family.calls.prose(block.text, (family.answer.open, family.answer.close), after, last))
            after = "text"
        index += 1
    return parts


def _check(family: Family, blocks: Sequence[Block], text: str, schemas: Schemas) -> None:
    reader, folding = Reader(family, schemas), ReplyFold()
    for event in [*reader.feed(text), *reader.close()]:
        folding.add(event)
    found = folding.reply.message.blocks
    runnable = [block for block in found if isinstance(block, ToolCall) and block.arguments is not None]
    if any(isinstance(block, ToolCall) and block.arguments is None for block in blocks):
        # Half a call may run into what is beside it. Whatever it reads as: a call that can run it is not.
        blocks, found = (
            [block for block in blocks if isinstance(block, ToolCall) and block.arguments is not None],
            tuple(runnable),
        )
    for written, read in zip(blocks, found, strict=False):
        if not _matches(written, read):
            raise Unwritable(_why(family, written))
    if len(found) != len(blocks):
        raise Unwritable(_why(family, (*blocks, *found)[min(len(found), len(blocks))]))


def _matches(written: Block, read: Block) -> bool:
    if not isinstance(written, ToolCall):
        return written == read
    return isinstance(read, ToolCall) and read.name == written.name and same(written.arguments, read.arguments)


def _why(family: Family, block: Block) -> str:
    if isinstance(block, ToolCall):
        what = f"the call of {block.name!r}"
    else:
        what = f"the {'reasoning' if isinstance(block, Reasoning) else 'text'} {getattr(block, 'text', '')[:40]!r}"
    return (
        f"{family.name} has no way to write {what}: it would be read as something else. Take what looks like the "
        "family's markers out of it, or choose another family"
    )
