"""Requests in other words than those that the rules were made with, to see what the figures are worth.

They were written before the first measurement, and not looked at while the rules for arguments were tuned on
`cases.py`. The first run had 12 of 16 exact; it showed a bug in the stemmer (`ordered` and `orders` did not meet),
whose fix is in the figures since. So they are held out from the tuning, but not from that fix. Write new ones for the
next change.
"""

from __future__ import annotations

from evals.local_demo.cases import Call

HELD_OUT: tuple[tuple[str, tuple[Call, ...]], ...] = (
    ("Could you check on ORD-1021 for me?", (("lookup_order", {"order_id": "ORD-1021"}),)),
    ("Any news about ord-1017?", (("lookup_order", {"order_id": "ORD-1017"}),)),
    ("Tell me the total of ORD-1030", (("lookup_order", {"order_id": "ORD-1030"}),)),
    ("Is my parcel ORD-1044 on its way?", (("lookup_order", {"order_id": "ORD-1044"}),)),
    ("What has Margaret Hamilton ordered?", (("find_customer_orders", {"customer": "Margaret Hamilton"}),)),
    ("I need every order placed by Alan Turing", (("find_customer_orders", {"customer": "Alan Turing"}),)),
    (
        "Stop order ORD-1050 and cancel it, wrong size",
        (("cancel_order", {"order_id": "ORD-1050", "reason": "wrong size"}),),
    ),
    (
        "ORD-1012 must be cancelled, the address is wrong",
        (("cancel_order", {"order_id": "ORD-1012", "reason": "the address is wrong"}),),
    ),
    (
        "Let Margaret know that the kettle is back in stock",
        (("send_message", {"to": "Margaret", "text": "the kettle is back in stock"}),),
    ),
    ("Send Alan the message see you tomorrow", (("send_message", {"to": "Alan", "text": "see you tomorrow"}),)),
    ("8 ounces in grams?", (("convert_units", {"value": 8, "from_unit": "ounces", "to_unit": "grams"}),)),
    ("How far is 42 km in miles", (("convert_units", {"value": 42, "from_unit": "km", "to_unit": "miles"}),)),
    ("When would a parcel reach Toronto?", (("delivery_estimate", {"city": "Toronto"}),)),
    ("How many days to ship to Hanoi?", (("delivery_estimate", {"city": "Hanoi"}),)),
    (
        "ORD-1031 and ORD-1032, where are they?",
        (("lookup_order", {"order_id": "ORD-1031"}), ("lookup_order", {"order_id": "ORD-1032"})),
    ),
    (
        "Check ORD-1060, then tell Alan that it is late",
        (("lookup_order", {"order_id": "ORD-1060"}), ("send_message", {"to": "Alan", "text": "it is late"})),
    ),
    ("Tell me a joke", ()),
    ("What time is it in Tokyo?", ()),
    ("Recommend a good book", ()),
    ("Solve x squared equals nine", ()),
    ("Who are you?", ()),
    ("Book me a table for two", ()),
)
