import counterfoil as cf

def own_order(session, arguments):  # the requester's rights, on the very object
    return None if arguments["order_id"] == "ORD-1" else "ORD-2 is not Ada's order."

@cf.tool(effect="read", permission="orders:read", authorize=own_order)
def lookup_order(order_id: str) -> str:
    """Find one order by its number. Says when it ships."""
    return f"{order_id} ships today."

asks = [cf.ToolCall("a", "lookup_order", {"order_id": id}) for id in ("ORD-1", "ORD-2")]
ada = cf.Session(requester="ada", permissions={"orders:read"})
with cf.sync.Harness(cf.Scripted([asks, "ORD-1 ships today."]), cf.Catalogue([lookup_order])) as harness:
    run = harness.run("Where are my orders?", ada)

print(run.outcome.kind, "-", run.text)
print(*[f"{id} {result.text}" for id, result in run.results.items()], sep="\n")
