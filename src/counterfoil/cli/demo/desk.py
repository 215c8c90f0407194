"""An order desk: a small SQLite database, and the tools by which a model may act on it for a signed-in person.

`counterfoil tools counterfoil.cli.demo.desk:catalogue` shows them. The database is the file that `COUNTERFOIL_DESK`
names, else a fresh one in a temporary folder.
"""

from __future__ import annotations

import difflib
import os
import sqlite3
import tempfile
from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path
from typing import Annotated, Any, Literal

import msgspec

from counterfoil.tools.catalogue import Catalogue
from counterfoil.tools.context import Context
from counterfoil.tools.limits import Limits
from counterfoil.tools.tool import Tool, tool
from counterfoil.types.error import NotApplied, ToolError
from counterfoil.types.session import Session

OrderId = Annotated[str, msgspec.Meta(pattern="^ORD-[0-9]{4}$", description="order number, like ORD-1001")]
Unit = Literal["kg", "pounds", "grams", "ounces", "cm", "inches", "km", "miles"]

ADA = Session(requester="ada", permissions=frozenset({"orders:read", "orders:cancel", "units", "delivery"}))
"""A customer: she may read and cancel, and `authorize` keeps her to her own orders."""
BOB = Session(requester="bob", permissions=frozenset({"orders:*", "messages:send", "units", "delivery"}))
"""Of the desk: he holds `orders:any` through `orders:*`, and may write to customers."""

_SCHEMA = """
CREATE TABLE customers (id TEXT PRIMARY KEY, name TEXT NOT NULL, city TEXT NOT NULL);
CREATE TABLE orders (id TEXT PRIMARY KEY, customer TEXT NOT NULL REFERENCES customers(id), item TEXT NOT NULL,
    total TEXT NOT NULL, status TEXT NOT NULL, delivery TEXT NOT NULL);
CREATE TABLE cancellations (key TEXT PRIMARY KEY, order_id TEXT NOT NULL, reason TEXT NOT NULL);
CREATE TABLE messages (key TEXT PRIMARY KEY, customer TEXT NOT NULL, text TEXT NOT NULL);
"""
_CUSTOMERS = [("ada", "Ada Marsh", "Lisbon"), ("cleo", "Cleo Winter", "Oslo"), ("dov", "Dov Rivers", "Nairobi")]
_ORDERS = [
    ("ORD-1001", "ada", "copper kettle", "48.00 EUR", "shipped", "Thursday"),
    ("ORD-1002", "ada", "desk lamp", "31.50 EUR", "packed", "Friday"),
    ("ORD-1003", "cleo", "field telescope", "219.00 EUR", "shipped", "Monday"),
    ("ORD-1004", "dov", "rain barrel", "87.20 EUR", "open", "next week"),
    ("ORD-1005", "ada", "second desk lamp", "31.50 EUR", "open", "Friday"),
]
_DAYS = {"Lisbon": 2, "Oslo": 4, "Nairobi": 6, "New York": 5, "Rome": 3}
_GRAMS = {"kg": 1000.0, "pounds": 453.59237, "grams": 1.0, "ounces": 28.349523125}
_METRES = {"cm": 0.01, "inches": 0.0254, "km": 1000.0, "miles": 1609.344}


class Desk:
    """The database, opened anew for every use, so that any process may use it."""

    def __init__(self, path: Path) -> None:
        self.path = path
        if not path.exists():
            with self._open() as db:
                db.executescript(_SCHEMA)
                db.executemany("INSERT INTO customers VALUES (?, ?, ?)", _CUSTOMERS)
                db.executemany("INSERT INTO orders VALUES (?, ?, ?, ?, ?, ?)", _ORDERS)

    @contextmanager
    def _open(self) -> Generator[sqlite3.Connection]:
        db = sqlite3.connect(self.path, timeout=10)
        db.row_factory = sqlite3.Row
        try:
            with db:
                yield db
        finally:
            db.close()

    def rows(self, sql: str, *values: Any) -> list[dict[str, Any]]:
        """Read."""
        with self._open() as db:
            return [dict(row) for row in db.execute(sql, values)]

    def write(self, sql: str, *values: Any) -> int:
        """Write; returns how many rows that changed."""
        with self._open() as db:
            return db.execute(sql, values).rowcount

    def order(self, order_id: str) -> dict[str, Any]:
        """One order. Raises `ToolError`."""
        found = self.rows("SELECT * FROM orders WHERE id = ?", order_id)
        if not found:
            raise ToolError(f"There is no order {order_id}: check the number with the customer.")
        return found[0]

    def authorize(self, session: Session, arguments: dict[str, Any]) -> str | None:
        """May this requester see or change this very order?"""
        owner = self.rows("SELECT customer FROM orders WHERE id = ?", arguments.get("order_id"))
        if not owner or owner[0]["customer"] == session.requester or session.permits("orders:any"):
            return None
        return f"{arguments['order_id']} is not an order of {session.requester}'s, so nothing of it may be told."


def catalogue(path: Path | None = None) -> Catalogue:
    """The desk's tools, on the database at `path`."""
    if path is None:
        named = os.environ.get("COUNTERFOIL_DESK")
        path = Path(named) if named else Path(tempfile.mkdtemp(prefix="counterfoil-desk-")) / "desk.db"
    desk = Desk(path)
    return Catalogue([*_order_tools(desk), *_other_tools(desk)])


def _order_tools(desk: Desk) -> list[Tool]:
    @tool(effect="read", permission="orders:read", authorize=desk.authorize)
    def lookup_order(order_id: OrderId) -> dict[str, Any]:
        """Look up one order by its number: where it is, its status, items, total and delivery date."""
        order = desk.order(order_id)
        return {key: order[key] for key in ("id", "item", "total", "status", "delivery")}

    @tool(effect="read", permission="orders:any")
    def find_customer_orders(customer: Annotated[str, "the customer's name"]) -> list[dict[str, Any]]:
        """Find all orders of a customer by the customer's name."""
        found = desk.rows(
            "SELECT o.id, o.item, o.status FROM orders o JOIN customers c ON o.customer = c.id WHERE c.name LIKE ?",
            f"%{customer}%",
        )
        if not found:
            names = [row["name"] for row in desk.rows("SELECT name FROM customers")]
            raise ToolError(f"There is no customer {customer!r}.{_near(customer, names)}")
        return found

    @tool(effect="irreversible", permission="orders:cancel", authorize=desk.authorize, limits=Limits(timeout=10))
    def cancel_order(
        order_id: OrderId,
        reason: Annotated[str, msgspec.Meta(min_length=3, description="why the order is cancelled")],
        context: Context,
    ) -> dict[str, Any]:
        """Cancel an order for good."""
        order = desk.order(order_id)
        if order["status"] in ("shipped", "cancelled"):
            raise NotApplied(f"{order_id} is {order['status']} already.")
        # The key is unique: were this called twice for one call of the model's, it would be done once.
        desk.write("INSERT OR IGNORE INTO cancellations VALUES (?, ?, ?)", context.idempotency_key, order_id, reason)
        desk.write("UPDATE orders SET status = 'cancelled' WHERE id = ?", order_id)
        return {"id": order_id, "status": "cancelled", "refund": order["total"]}

    return [lookup_order, find_customer_orders, cancel_order]


def _other_tools(desk: Desk) -> list[Tool]:
    @tool(effect="write", permission="messages:send", limits=Limits(timeout=10, calls_per_run=3))
    def send_message(
        to: Annotated[str, "the customer's name"],
        text: Annotated[str, msgspec.Meta(min_length=2, max_length=500, description="the message")],
        context: Context,
    ) -> str:
        """Send a message to a customer: write, text or tell them something."""
        found = desk.rows("SELECT id, name FROM customers WHERE name LIKE ?", f"%{to}%")
        if len(found) != 1:
            names = [row["name"] for row in desk.rows("SELECT name FROM customers")]
            raise NotApplied(f"{len(found)} customers are called {to!r}.{_near(to, names)}")
        key = context.idempotency_key
        desk.write("INSERT OR IGNORE INTO messages VALUES (?, ?, ?)", key, found[0]["id"], text)
        return f"sent to {found[0]['name']}"

    @tool(effect="read", permission="units")
    def convert_units(
        value: Annotated[float, "the quantity"],
        from_unit: Annotated[Unit, "unit of the quantity"],
        to_unit: Annotated[Unit, "unit wanted"],
    ) -> str:
        """Convert a weight or a length from one unit to another: how many pounds is a kg."""
        for scale in (_GRAMS, _METRES):
            if from_unit in scale and to_unit in scale:
                return f"{value:g} {from_unit} = {value * scale[from_unit] / scale[to_unit]:.4g} {to_unit}"
        raise ToolError(f"{from_unit} and {to_unit} do not measure the same thing.")

    @tool(effect="read", permission="delivery")
    def delivery_estimate(city: Annotated[str, "the city it ships to"]) -> dict[str, Any]:
        """Estimate how many days a delivery or shipping to a city takes."""
        if city not in _DAYS:
            raise ToolError(f"We do not ship to {city!r}.{_near(city, list(_DAYS))}")
        return {"city": city, "days": _DAYS[city]}

    return [send_message, convert_units, delivery_estimate]


def _near(given: str, known: list[str]) -> str:
    """A hint for the model: the nearest of the known values."""
    near = difflib.get_close_matches(given.title(), known, 1, 0.5)
    return f" Did you mean {near[0]!r}?" if near else f" Known are: {', '.join(known)}."
