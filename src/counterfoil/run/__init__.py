"""The loop: a run is its journal, and one path leads from its entries to the next step."""
