"""The floor: a hand-written asyncio loop. Dict messages, JSON Schema check, gather, paired results."""

import asyncio
import json
from collections.abc import Awaitable, Callable
from typing import Any

import jsonschema_rs

from benchmarks.scenario import DESCRIPTION, FINAL, NAME, PROMPT, SCHEMA, SYSTEM, Script, record


class FakeModel:
    def __init__(self, script: Script) -> None:
        self.script = script

    async def complete(self, messages: list[Any], tools: list[Any]) -> dict[str, Any]:
        script = self.script
        if script.sleep:
            await asyncio.sleep(script.sleep)
        calls = script.turn()
        if calls is None:
            return {"role": "assistant", "content": FINAL}
        return {
            "role": "assistant",
            "content": None,
            "tool_calls": [
                {"id": id, "type": "function", "function": {"name": name, "arguments": arguments}}
                for id, name, arguments in calls
            ],
        }


class Loop:
    def __init__(self) -> None:
        self.tools = {NAME: (jsonschema_rs.validator_for(SCHEMA), record)}
        function = {"name": NAME, "description": DESCRIPTION, "parameters": SCHEMA}
        self.catalogue = [{"type": "function", "function": function}]

    async def one(self, call: dict[str, Any]) -> dict[str, Any]:
        function = call["function"]
        tool = self.tools.get(function["name"])
        if tool is None:
            return {"role": "tool", "tool_call_id": call["id"], "content": "error: no such tool"}
        try:
            arguments = json.loads(function["arguments"])
        except ValueError as error:
            return {"role": "tool", "tool_call_id": call["id"], "content": f"error: {error}"}
        if not tool[0].is_valid(arguments):
            return {"role": "tool", "tool_call_id": call["id"], "content": "error: bad arguments"}
        out: Any
        try:
            out = await tool[1](**arguments)
        except Exception as error:  # noqa: BLE001 a tool may raise anything
            out = f"error: {error!r}"
        return {"role": "tool", "tool_call_id": call["id"], "content": out if isinstance(out, str) else json.dumps(out)}

    async def run(self, script: Script) -> Any:
        model = FakeModel(script)
        messages: list[dict[str, Any]] = [{"role": "system", "content": SYSTEM}, {"role": "user", "content": PROMPT}]
        while True:
            reply = await model.complete(messages, self.catalogue)
            messages.append(reply)
            calls = reply.get("tool_calls")
            if not calls:
                return reply["content"]
            messages.extend(await asyncio.gather(*[self.one(call) for call in calls]))


def session() -> Callable[[Script], Awaitable[Any]]:
    return Loop().run
