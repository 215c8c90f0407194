"""pydantic-ai (the slim distribution carries the whole loop): FunctionModel, one agent shared by all sessions."""

import asyncio

from pydantic_ai import Agent
from pydantic_ai.messages import ModelResponse, TextPart, ToolCallPart
from pydantic_ai.models.function import FunctionModel
from pydantic_ai.usage import UsageLimits

from benchmarks.scenario import FINAL, PROMPT, SYSTEM, record


def fake(script):
    async def reply(messages, info):
        if script.sleep:
            await asyncio.sleep(script.sleep)
        calls = script.turn()
        if calls is None:
            return ModelResponse(parts=[TextPart(FINAL)])
        return ModelResponse(parts=[ToolCallPart(tool_name=n, args=a, tool_call_id=i) for i, n, a in calls])

    return FunctionModel(reply)


agent = Agent(fake(None), system_prompt=SYSTEM)
agent.tool_plain(record)
LIMITS = UsageLimits(request_limit=None)


def session():
    async def run(script):
        r = await agent.run(PROMPT, model=fake(script), usage_limits=LIMITS)
        return r.output

    return run
