"""The order desk's catalogue and requests: what a person might type, and the calls that are right.

A case is (request, calls wanted). No call wanted means that no tool fits and prose is the right reply. `reason` and
`text` are compared leniently (see `run.same`), because people disagree on where a reason begins.
"""

from __future__ import annotations

from typing import Any

from counterfoil.types.request import ToolSpec

UNITS = ["kg", "pounds", "grams", "ounces", "cm", "inches", "km", "miles"]


def _tool(name: str, description: str, **properties: Any) -> ToolSpec:
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


def _string(description: str, **more: Any) -> dict[str, Any]:
    return {"type": "string", "description": description, **more}


_ORDER = _string("order number, like ORD-1001", pattern="^ORD-[0-9]{4}$")

TOOLS = (
    _tool(
        "lookup_order",
        "Look up one order by its number: where it is, its status, items, total and delivery date",
        order_id=_ORDER,
    ),
    _tool(
        "find_customer_orders",
        "Find all orders of a customer by the customer's name",
        customer=_string("the customer's name"),
    ),
    _tool(
        "cancel_order",
        "Cancel an order for good",
        order_id=_ORDER,
        reason=_string("why the order is cancelled", minLength=3),
    ),
    _tool(
        "send_message",
        "Send a message to a customer: write, text or tell them something",
        to=_string("the customer's name"),
        text=_string("the message", minLength=2),
    ),
    _tool(
        "convert_units",
        "Convert a weight or a length from one unit to another: how many pounds is a kg",
        value={"type": "number", "description": "the quantity"},
        from_unit=_string("unit of the quantity", enum=UNITS),
        to_unit=_string("unit wanted", enum=UNITS),
    ),
    _tool(
        "delivery_estimate",
        "Estimate how many days a delivery or shipping to a city takes",
        city=_string("the city it ships to"),
    ),
)

Call = tuple[str, dict[str, Any]]


def _c(name: str, **arguments: Any) -> Call:
    return name, arguments


def _look(order: str) -> Call:
    return _c("lookup_order", order_id=order)


def _convert(value: float, from_unit: str, to_unit: str) -> Call:
    return _c("convert_units", value=value, from_unit=from_unit, to_unit=to_unit)


CASES: tuple[tuple[str, tuple[Call, ...]], ...] = (
    # one order
    ("Where is ORD-1001?", (_look("ORD-1001"),)),
    ("What's the status of order ORD-1002?", (_look("ORD-1002"),)),
    ("Has ORD-1003 shipped yet?", (_look("ORD-1003"),)),
    ("Look up ORD-1007 please", (_look("ORD-1007"),)),
    ("when will order ORD-1010 arrive", (_look("ORD-1010"),)),
    ("Show me the items in ORD-1004", (_look("ORD-1004"),)),
    ("Where is order 1005?", (_look("ORD-1005"),)),
    # a customer's orders
    ("Find all orders of Ada Lovelace", (_c("find_customer_orders", customer="Ada Lovelace"),)),
    ("Which orders does Grace Hopper have?", (_c("find_customer_orders", customer="Grace Hopper"),)),
    ("List the orders of customer Linus", (_c("find_customer_orders", customer="Linus"),)),
    ("show orders for Barbara Liskov", (_c("find_customer_orders", customer="Barbara Liskov"),)),
    # irreversible
    (
        "Cancel ORD-1003, it was ordered by mistake",
        (_c("cancel_order", order_id="ORD-1003", reason="ordered by mistake"),),
    ),
    (
        "Please cancel order ORD-1008 because it is too late",
        (_c("cancel_order", order_id="ORD-1008", reason="it is too late"),),
    ),
    (
        "Cancel ORD-1005: the customer changed her mind",
        (_c("cancel_order", order_id="ORD-1005", reason="the customer changed her mind"),),
    ),
    (
        "I want to cancel ORD-1001 since I found it cheaper",
        (_c("cancel_order", order_id="ORD-1001", reason="found it cheaper"),),
    ),
    # a write
    (
        "Send a message to Ada saying your order has shipped",
        (_c("send_message", to="Ada", text="your order has shipped"),),
    ),
    ("Tell Grace that her parcel is late", (_c("send_message", to="Grace", text="her parcel is late"),)),
    (
        "message Linus: your refund is on its way",
        (_c("send_message", to="Linus", text="your refund is on its way"),),
    ),
    ("Text Barbara that we are closed today", (_c("send_message", to="Barbara", text="we are closed today"),)),
    # units
    ("Convert 12 kg to pounds", (_convert(12, "kg", "pounds"),)),
    ("How many inches is 90 cm?", (_convert(90, "cm", "inches"),)),
    ("What is 2.5 pounds in grams?", (_convert(2.5, "pounds", "grams"),)),
    ("Convert 300 miles to km", (_convert(300, "miles", "km"),)),
    # delivery
    ("How long does delivery to Lisbon take?", (_c("delivery_estimate", city="Lisbon"),)),
    ("Delivery estimate for Oslo", (_c("delivery_estimate", city="Oslo"),)),
    ("How many days does shipping to New York take?", (_c("delivery_estimate", city="New York"),)),
    ("estimate the delivery to Nairobi", (_c("delivery_estimate", city="Nairobi"),)),
    # two calls in one turn
    ("Where are ORD-1001 and ORD-1002?", (_look("ORD-1001"), _look("ORD-1002"))),
    (
        "Look up ORD-1004 and convert 5 kg to pounds",
        (_look("ORD-1004"), _convert(5, "kg", "pounds")),
    ),
    (
        "Find the orders of Ada Lovelace and the orders of Grace Hopper",
        (_c("find_customer_orders", customer="Ada Lovelace"), _c("find_customer_orders", customer="Grace Hopper")),
    ),
    (
        "Where is ORD-1006 and how long does delivery to Rome take?",
        (_look("ORD-1006"), _c("delivery_estimate", city="Rome")),
    ),
    # off-topic: no tool fits
    ("Write a poem about the sea", ()),
    ("Who painted the Mona Lisa?", ()),
    ("What is the capital of France?", ()),
    ("Translate good morning into Spanish", ()),
    ("Turn off the kitchen lights", ()),
    ("Thanks, that's all!", ()),
    ("Hello, how are you?", ()),
    ("Play some jazz", ()),
)
