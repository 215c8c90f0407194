"""The mapping table of docs/wires.md is made by asking the wires. `python tests/wires/test_docs.py` writes it anew."""

from __future__ import annotations

from pathlib import Path

from counterfoil import wires
from counterfoil.types.message import Block, Media, Message, Reasoning, Text, ToolCall, ToolResult, system, user
from counterfoil.types.request import Output, Request, Sampling, ToolChoice, ToolSpec
from counterfoil.wires.wire import Wire

PAGE = Path(__file__).parents[2] / "docs" / "wires.md"
BEGIN, END = "<!-- the table: python tests/wires/test_docs.py -->", "<!-- the end of the table -->"
PNG = b"\x89PNG\r\n\x1a\n"
SCHEMA = {"type": "object", "properties": {"q": {"type": "string"}}}
F, G = ToolSpec("f", "Does f.", SCHEMA), ToolSpec("g", "Does g.", SCHEMA)


def asked(*blocks: Block, tools: tuple[ToolSpec, ...] = (F, G), choice: ToolChoice | None = None) -> Request:
    return Request((user(blocks or "Hi"),), tools, choice or ToolChoice(), "m", Sampling(99))


def answered(wire: Wire, call: ToolCall | None = None, result: ToolResult | None = None, *before: Block) -> Request:
    called = call or ToolCall("call00001", "f", {"q": "x"})
    done = result or ToolResult(called.id, (Text("ok"),), name=called.name)
    tools = (F, ToolSpec("g", kind="custom"))
    return Request(
        (user("Hi"), Message("assistant", (*before, called)), Message("tool", (done,))),
        tools,
        model="m",
        sampling=Sampling(99),
    )


def features(wire: Wire) -> dict[str, tuple[Request, str]]:
    """What may be asked of a wire: a request, and the beginning of the paths of its losses."""
    own = {"openai-chat": {"openai-chat": {"$field": "reasoning_content"}}}.get(wire.NAME, {wire.NAME: {}})
    custom = ToolSpec(
        "c", "Runs code.", kind="custom", format={"type": "grammar", "syntax": "lark", "definition": "start: /a/"}
    )
    strict = ToolSpec("f", "Does f.", {**SCHEMA, "required": ["q"], "additionalProperties": False}, strict=True)
    image, sound, film = (Media(kind, PNG) for kind in ("image/png", "audio/wav", "video/mp4"))
    return {
        "strict tool": (asked(tools=(strict,)), "/tools"),
        "free-text tool": (asked(tools=(custom,)), "/tools"),
        "a tool's output schema": (
            asked(tools=(ToolSpec("f", "", SCHEMA, output_schema={"type": "string"}),)),
            "/tools",
        ),
        "call of a free-text tool": (answered(wire, ToolCall("call00001", "g", raw="aaa", kind="custom")), "/messages"),
        "arguments that do not parse": (answered(wire, ToolCall("call00001", "f", None, "{", "cut")), "/messages"),
        "no tool": (asked(choice=ToolChoice("none")), "/"),
        "any tool": (asked(choice=ToolChoice("any")), "/"),
        "one tool by name": (asked(choice=ToolChoice("any", ("f",))), "/"),
        "a subset of the tools": (
            asked(tools=(F, G, strict.__class__("h", "", SCHEMA)), choice=ToolChoice("auto", ("f", "g"))),
            "/",
        ),
        "one call at a time": (asked(choice=ToolChoice(parallel=False)), "/"),
        "error flag of a result": (
            answered(wire, None, ToolResult("call00001", (Text("no"),), True, name="f")),
            "/messages",
        ),
        "image in a result": (answered(wire, None, ToolResult("call00001", (image,), name="f")), "/messages"),
        "image": (asked(image), "/messages"),
        "sound": (asked(sound), "/messages"),
        "film": (asked(film), "/messages"),
        "PDF": (asked(Media("application/pdf", PNG)), "/messages"),
        "its own signed reasoning": (answered(wire, None, None, Reasoning("hm", "c2ln", ext=own)), "/messages"),
        "another's reasoning": (answered(wire, None, None, Reasoning("hm", "c2ln", ext={"another": {}})), "/messages"),
        "a second system message": (
            Request((system("a"), user("b"), system("c")), model="m", sampling=Sampling(99)),
            "/messages",
        ),
        "structured answer": (
            Request((user("Hi"),), model="m", sampling=Sampling(99), output=Output(SCHEMA)),
            "/output",
        ),
        "seed": (Request((user("Hi"),), model="m", sampling=Sampling(99, seed=1)), "/sampling"),
        "top-k": (Request((user("Hi"),), model="m", sampling=Sampling(99, top_k=1)), "/sampling"),
    }


def table() -> str:
    """How each wire carries each thing."""
    all_wires = [wires.get(name) for name in wires.names()]
    rows = ["| | " + " | ".join(wires.names()) + " |", "|---|" + "---|" * len(all_wires)]
    for feature in features(all_wires[0]):
        cells = []
        for wire in all_wires:
            request, under = features(wire)[feature]
            losses = [loss for loss in wire.write_request(request).losses if loss.path.startswith(under)]
            cells.append(", ".join(sorted({loss.carried for loss in losses})) or "yes")
        rows.append(f"| {feature} | " + " | ".join(cells) + " |")
    return "\n".join(rows)


def page() -> str:
    before, _, rest = PAGE.read_text().partition(BEGIN)
    return f"{before}{BEGIN}\n{table()}\n{END}{rest.partition(END)[2]}"


def test_the_table_is_what_the_wires_do() -> None:
    assert PAGE.read_text() == page()


if __name__ == "__main__":
    PAGE.write_text(page())
