"""A desk with an inbox, for tests of the provenance check."""

from __future__ import annotations

from typing import Any

from counterfoil.gate.provenance.known import Known
from counterfoil.gate.provenance.policy import Ruling, rule
from counterfoil.tools.guess import Handling, handling
from counterfoil.tools.result import to_json
from counterfoil.tools.trust import Trust
from counterfoil.types.handle import Handle
from counterfoil.types.label import Label
from counterfoil.types.plan import Intent, Mode

TRUST: dict[str, dict[str, Any]] = {
    "search_mails": {
        "act": "read",
        "returns": {"id": "system", "at": "system", "from": "typed"},
        "keys": ["query"],
        "author": "from",
    },
    "list_files": {"act": "read", "returns": {"id": "system", "size": "system"}},
    "search_files": {"act": "read", "returns": {"id": "system"}, "keys": ["name"]},
    "open_page": {"act": "fetch", "roles": {"url": "target"}},
    "read_vault": {"act": "read", "returns": {"*": "user"}, "secret": ["pin"]},
    "read_diary": {"act": "read", "returns": "user", "private": True},
    "send_mail": {
        "act": "send",
        "roles": {"to": "target", "cc": "target", "body": "content", "files": "resource"},
        "returns": {"*": "system"},
    },
    "pay": {"act": "pay", "roles": {"iban": "target", "amount": "critical", "note": "content"}, "returns": "system"},
    "write_file": {"act": "self", "roles": {"name": "content", "text": "content"}, "returns": {"*": "system"}},
    "add_event": {
        "act": "self",
        "widens": {"guests": "send"},
        "roles": {"title": "content", "day": "plain", "guests": "target"},
        "returns": {"*": "system"},
    },
    "append": {"act": "self", "roles": {"file_id": "target", "text": "content"}, "returns": "system"},
    "delete_file": {"act": "destroy", "roles": {"file_id": "target"}, "returns": "system"},
    "delete_mail": {"act": "destroy", "roles": {"mail_id": "target"}, "returns": "system"},
    "move_in": {"act": "admin", "roles": {"city": "critical"}, "returns": "system"},
    "share": {
        "act": "admin",
        "roles": {"file_id": "target", "who": "target", "right": "critical"},
        "words": {"right": {"r": ["read"], "rw": ["edit"]}},
        "returns": "system",
    },
}

HOW: dict[str, Handling] = {
    name: handling(name, {"properties": {role: {} for role in each.get("roles", {})}}, "write", Trust.from_dict(each))
    for name, each in TRUST.items()
}
USER = Label("user")
OUTSIDE = Label("untrusted", "a page")


class Desk:
    """A run as its fold will see it: what was said and read, what is planned."""

    def __init__(self, prompt: str = "", *, config: tuple[str, ...] = (), me: tuple[str, ...] = ()) -> None:
        self.known = Known(config, me)
        if prompt:
            self.known.say(prompt, USER)

    def plan(self, *intents: Intent) -> Desk:
        """Declare a plan, as an application does: what it leaves open, it leaves open."""
        assert self.known.intend(intents, by_model=False)
        return self

    def read(self, tool: str, value: Any, given: Label | None = None, /, **arguments: Any) -> Label:
        """Take up what a tool returned."""
        how = HOW[tool]
        label, leaves = self.known.label_result(tool, how, arguments, value, requester="ada", given=given)
        text = value if isinstance(value, str) else to_json(value)
        self.known.read(tool, arguments, text, label, leaves)
        return label

    def page(self, text: str = "Buy now.", call_id: str = "") -> Desk:
        """Read a page that anybody may have written."""
        self.known.read("open_page", {}, text, OUTSIDE, call_id=call_id)
        return self

    def hold(self, name: str, value: Any) -> Desk:
        """Take up a page that was not shown to the model."""
        self.known.hold("open_page", Handle(name, "a page", value))
        return self

    def judge(self, tool: str, mode: Mode = "default", /, **arguments: Any) -> Ruling:
        """What the policy says of a call."""
        return rule(self.known, tool, HOW[tool], arguments, mode)

    def why(self, tool: str, mode: Mode = "default", /, **arguments: Any) -> str | None:
        """Why a call asks; `None` if it does not."""
        return self.judge(tool, mode, **arguments).why

    def wrong(self, tool: str, mode: Mode = "default", /, **arguments: Any) -> dict[str, Any]:
        """The arguments that are the matter, and the part of each."""
        return {each.argument: each.value for each in self.judge(tool, mode, **arguments).traced if not each.trusted}

    def run(self, tool: str, /, **arguments: Any) -> None:
        """Let a call run: its intent, if it has one, is spent."""
        number = self.known.plan.find(tool, arguments, HOW[tool], self.known.results)
        if number is not None:
            self.known.plan.spend(number)
