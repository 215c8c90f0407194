"""Tool search: which of many tools fit a request, by words alone. No I/O."""

from counterfoil.routing.bm25 import Bm25, words
from counterfoil.routing.search import Hit, ToolSearch, clauses

__all__ = ["Bm25", "Hit", "ToolSearch", "clauses", "words"]
