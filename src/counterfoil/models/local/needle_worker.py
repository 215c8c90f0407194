"""The child process that runs Needle: JSON lines in, JSON lines out. Not imported; run by its path.

Its engine holds the interpreter lock while it works and cannot be stopped, so in our own process it would freeze the
event loop for a second and outlive a cancellation. A process can be killed, and is back in a tenth of a second.
"""

from __future__ import annotations

import json
import sys
from importlib import import_module
from typing import Any


def main() -> None:
    """Load the weights named on the command line, then answer the requests on standard input, one a line."""
    # By name: the wheel has no types, and the parent has made sure that it is here.
    engine: Any = import_module("needle_rs").V3Engine.load(sys.argv[1])
    _tell({"ready": True})
    for line in sys.stdin:
        asked = json.loads(line)
        try:
            if asked.get("temperature"):
                found: dict[str, Any] = engine.generate(
                    asked["query"], asked["tools"], temperature=asked["temperature"], seed=asked.get("seed") or 0
                )
                _tell({"piece": found["text"]})
            else:
                engine.run_stream(asked["query"], asked["tools"], _piece)
            _tell({"done": True})
        except Exception as error:  # noqa: BLE001 - told to the parent, which raises it
            _tell({"error": str(error)})


def _piece(text: str) -> None:
    _tell({"piece": text})


def _tell(what: dict[str, Any]) -> None:
    sys.stdout.write(json.dumps(what) + "\n")
    sys.stdout.flush()


if __name__ == "__main__":
    main()
