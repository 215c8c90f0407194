"""strands-agents: custom streaming Model, no callback printing. An Agent holds one conversation, so one per session.
NullConversationManager so that history really grows (the default keeps a sliding window of 40 messages)."""

import asyncio

from strands import Agent
from strands import tool as strands_tool
from strands.agent.conversation_manager import NullConversationManager
from strands.models.model import Model

from benchmarks.scenario import FINAL, PROMPT, SYSTEM, record


class FakeModel(Model):
    def __init__(self, script):
        self.script = script

    def update_config(self, **kw):
        pass

    def get_config(self):
        return {"context_window_limit": 1_000_000_000}

    def structured_output(self, *a, **k):
        raise NotImplementedError

    async def stream(self, messages, tool_specs=None, system_prompt=None, **kw):
        s = self.script
        if s.sleep:
            await asyncio.sleep(s.sleep)
        calls = s.turn()
        yield {"messageStart": {"role": "assistant"}}
        if calls is None:
            yield {"contentBlockStart": {"contentBlockIndex": 0, "start": {}}}
            yield {"contentBlockDelta": {"contentBlockIndex": 0, "delta": {"text": FINAL}}}
            yield {"contentBlockStop": {"contentBlockIndex": 0}}
            yield {"messageStop": {"stopReason": "end_turn"}}
        else:
            for k, (i, n, a) in enumerate(calls):
                yield {"contentBlockStart": {"contentBlockIndex": k, "start": {"toolUse": {"toolUseId": i, "name": n}}}}
                yield {"contentBlockDelta": {"contentBlockIndex": k, "delta": {"toolUse": {"input": a}}}}
                yield {"contentBlockStop": {"contentBlockIndex": k}}
            yield {"messageStop": {"stopReason": "tool_use"}}
        yield {
            "metadata": {"usage": {"inputTokens": 1, "outputTokens": 1, "totalTokens": 2}, "metrics": {"latencyMs": 1}}
        }


tool = strands_tool(record)


def session():
    async def run(script):
        agent = Agent(
            model=FakeModel(script),
            system_prompt=SYSTEM,
            tools=[tool],
            callback_handler=None,
            conversation_manager=NullConversationManager(),
        )
        return str(await agent.invoke_async(PROMPT))

    return run
