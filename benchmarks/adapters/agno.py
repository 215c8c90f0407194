"""agno: custom Model, telemetry off, no database; an Agent per session."""

import asyncio

from agno.agent import Agent
from agno.models.base import Model
from agno.models.response import ModelResponse

from benchmarks.scenario import FINAL, PROMPT, SYSTEM, record


class FakeModel(Model):
    def __init__(self, script):
        super().__init__(id="fake", name="fake", provider="fake")
        self.script = script

    async def ainvoke(self, *a, **kw):
        s = self.script
        if s.sleep:
            await asyncio.sleep(s.sleep)
        calls = s.turn()
        if calls is None:
            return ModelResponse(role="assistant", content=FINAL)
        return ModelResponse(
            role="assistant",
            content=None,
            tool_calls=[{"id": i, "type": "function", "function": {"name": n, "arguments": a}} for i, n, a in calls],
        )

    def invoke(self, *a, **kw):
        raise NotImplementedError

    def invoke_stream(self, *a, **kw):
        raise NotImplementedError

    def ainvoke_stream(self, *a, **kw):
        raise NotImplementedError

    def _parse_provider_response(self, response, **kw):
        return response

    def _parse_provider_response_delta(self, response):
        return response


def session():
    async def run(script):
        agent = Agent(model=FakeModel(script), tools=[record], instructions=SYSTEM, telemetry=False)
        r = await agent.arun(PROMPT)
        return r.content

    return run
