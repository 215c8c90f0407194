"""In a test: where an outsider can write a mark is put, and it must not come out as trusted."""

from counterfoil import Trust, tool
from counterfoil.gate.provenance.canary import MARK, leaks, unused

TICKETS = {"T-1": {"id": "T-1", "sender": "eve@x.example", "subject": MARK, "text": MARK}}  # as Eve wrote it


@tool(effect="read", trust=Trust(returns={"id": "system", "sender": "typed", "subject": "system", "title": "system"}))
def read_ticket(ticket_id: str) -> dict[str, str]:
    """Read a ticket."""
    return TICKETS[ticket_id]


ticket = read_ticket("T-1")
print("believed, though Eve wrote it:", leaks(read_ticket, ticket))
print("declared, and not there:", unused(read_ticket, ticket))
