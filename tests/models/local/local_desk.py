"""A small order desk for the tests."""

from typing import Any

from counterfoil.types.message import Message, Text, ToolCall, ToolResult, user
from counterfoil.types.request import AUTO, Request, Sampling, ToolChoice, ToolSpec

ORDER = {"type": "string", "description": "order number, like ORD-1001", "pattern": "^ORD-[0-9]{4}$"}
UNITS = ["kg", "pounds", "cm", "inches"]


def tool(name: str, description: str, **properties: Any) -> ToolSpec:
    return ToolSpec(
        name,
        description,
        {
            "type": "object",
            "properties": properties,
            "required": list(properties),
            "additionalProperties": False,
        },
    )


LOOKUP = tool("lookup_order", "Look up one order by its number: where it is, its status and items", order_id=ORDER)
CANCEL = tool("cancel_order", "Cancel an order for good", order_id=ORDER, reason={"type": "string", "minLength": 3})
CONVERT = tool(
    "convert_units",
    "Convert a weight or a length from one unit to another",
    value={"type": "number"},
    from_unit={"type": "string", "enum": UNITS},
    to_unit={"type": "string", "enum": UNITS},
)
MESSAGE = tool(
    "send_message",
    "Send a message to a customer",
    to={"type": "string", "description": "the customer's name"},
    text={"type": "string"},
)
DESK = (LOOKUP, CANCEL, CONVERT, MESSAGE)


def ask(
    *messages: Message | str, choice: ToolChoice = AUTO, tools: tuple[ToolSpec, ...] = DESK, **more: Any
) -> Request:
    said = tuple(user(each) if isinstance(each, str) else each for each in messages)
    more.setdefault("sampling", Sampling(max_tokens=120))
    return Request(said, tools, choice, **more)


def results(calls: tuple[ToolCall, ...], text: str, **more: Any) -> Message:
    return Message("tool", tuple(ToolResult(call.id, (Text(text),), **more) for call in calls))
