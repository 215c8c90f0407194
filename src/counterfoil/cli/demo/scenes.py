"""The scenes of the tour, as data: who asks what, which calls that should come to, and the stand-in's script."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import msgspec

from counterfoil.cli.demo.desk import ADA, BOB
from counterfoil.models.scripted import Turn
from counterfoil.run.run import Run
from counterfoil.types.message import ToolCall
from counterfoil.types.session import Session


class Scene(msgspec.Struct, frozen=True, kw_only=True):
    """One question. `calls` are those that were meant, with arguments that must be among theirs."""

    title: str = ""
    about: str = ""
    """A sentence on what to look at."""
    session: Session
    asked: str
    calls: tuple[tuple[str, dict[str, Any]], ...]
    script: tuple[Turn, ...]
    """What `Scripted` says, where it plays the scene."""
    only_scripted: str = ""
    """Why the real model is not asked, if it is not."""

    def missed(self, run: Run) -> str | None:
        """What a run lacks to be this scene; `None` if it is."""
        asked = list(run.state.calls.values())
        if run.outcome.kind not in ("answered", "waiting"):
            return f"it {run.outcome.kind}: {run.outcome.detail}"
        if [call.call.name for call in asked] != [name for name, _ in self.calls]:
            return f"it called {', '.join(call.call.name for call in asked) or 'nothing'}"
        for call, (name, wanted) in zip(asked, self.calls, strict=True):
            given = call.call.arguments or {}
            if any(given.get(key) != value for key, value in wanted.items()):
                return f"it called {name} with other arguments"
        return None


def _call(name: str, **arguments: Any) -> ToolCall:
    return ToolCall("scripted", name, arguments)


def _turn(*calls: ToolCall) -> Sequence[ToolCall]:
    return [msgspec.structs.replace(call, id=f"scripted-{number}") for number, call in enumerate(calls, 1)]


PLAIN = Scene(
    title="A plain answer, through a tool",
    session=ADA,
    asked="Where is ORD-1001?",
    calls=(("lookup_order", {"order_id": "ORD-1001"}),),
    script=(_turn(_call("lookup_order", order_id="ORD-1001")), "It has been shipped and arrives on Thursday."),
)
TWO = Scene(
    title="Two calls in one turn",
    about="They run at the same time; the model reads their results in order, in one message.",
    session=ADA,
    asked="Look up ORD-1002 and convert 12 kg to pounds",
    calls=(
        ("lookup_order", {"order_id": "ORD-1002"}),
        ("convert_units", {"from_unit": "kg", "to_unit": "pounds"}),
    ),
    script=(
        _turn(
            _call("lookup_order", order_id="ORD-1002"),
            _call("convert_units", value=12, from_unit="kg", to_unit="pounds"),
        ),
        "The desk lamp is packed, and 12 kg are 26.46 pounds.",
    ),
)
WRONG = Scene(
    title="A wrong argument, refused and repaired",
    about="A local model's calls always fit their schema; what no schema can know, the tool itself teaches.",
    session=ADA,
    asked="How long does delivery to Lisboa take?",
    calls=(("delivery_estimate", {}), ("delivery_estimate", {"city": "Lisbon"})),
    script=(
        _turn(_call("delivery_estimate", city="Lisboa")),
        _turn(_call("delivery_estimate", city="Lisbon")),
        "Delivery to Lisbon takes 2 days.",
    ),
)
MALFORMED = Scene(
    about="A model without such a grammar writes worse. The gate names every error, and nothing runs meanwhile.",
    session=ADA,
    asked="How many pounds is 12 kg?",
    calls=(("convert_units", {}), ("convert_units", {"value": 12})),
    script=(
        _turn(_call("convert_units", value="twelve", from_unit="kgs", to_unit="pounds", precise=True)),
        _turn(_call("convert_units", value=12, from_unit="kg", to_unit="pounds")),
        "12 kg are 26.46 pounds.",
    ),
    only_scripted="a model constrained by the schema cannot write such a call, so a scripted one does",
)
OTHERS = Scene(
    title="Somebody else's order",
    about="Ada may read orders. Which ones, her signed-in session decides, not what the model was told.",
    session=ADA,
    asked="Where is ORD-1003?",
    calls=(("lookup_order", {"order_id": "ORD-1003"}),),
    script=(_turn(_call("lookup_order", order_id="ORD-1003")), "I may not tell you anything of that order."),
)
DESK = Scene(
    about="Bob of the desk asks the same.",
    session=BOB,
    asked="Where is ORD-1003?",
    calls=(("lookup_order", {"order_id": "ORD-1003"}),),
    script=(_turn(_call("lookup_order", order_id="ORD-1003")), "It has been shipped and arrives on Monday."),
)
CANCEL = Scene(
    title="What cannot be taken back waits for a person",
    about="The run ends here, and costs one row in the journal until somebody answers, in whatever process.",
    session=ADA,
    asked="Cancel ORD-1005 because I ordered two lamps by mistake",
    calls=(("cancel_order", {"order_id": "ORD-1005"}),),
    script=(
        _turn(_call("cancel_order", order_id="ORD-1005", reason="I ordered two lamps by mistake")),
        "ORD-1005 is cancelled, and 31.50 EUR go back to you.",
    ),
)
BEFORE_CANCEL = (PLAIN, TWO, WRONG, MALFORMED, OTHERS, DESK)
