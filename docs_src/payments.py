"""A desk that pays invoices: what each worker is given."""

import os
import time

from counterfoil import Catalogue, Function, Harness, Limits, Message, Reply, Request, ToolCall, tool


@tool(effect="write", permission="payments:send", limits=Limits(timeout=30))
def pay(invoice: str) -> str:
    """Pay an invoice."""
    with open("bank.txt", "a") as bank:
        bank.write(f"{invoice}\n")
    if os.path.exists("slow"):
        time.sleep(20)  # the bank takes its time to answer
    return f"{invoice} is paid."


def desk(request: Request) -> Reply | str:
    """Stands in for a model: pays what it is asked to pay."""
    asked = request.messages[-1]
    if asked.role == "tool":
        return "Done."
    return Reply(Message("assistant", (ToolCall("", "pay", {"invoice": asked.text}),)), "tool_calls")


harness = Harness(Function(desk), Catalogue([pay]))
