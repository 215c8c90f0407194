"""The values that flow: frozen, comparable, JSON-ready. Nothing here does I/O or imports anything else of ours."""
