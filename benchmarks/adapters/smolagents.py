"""smolagents ToolCallingAgent: synchronous, so it runs on a worker thread and the tool is a plain function.

The agent is stateful, so one per session; rich logging is off. The run ends through its final_answer tool.
"""

import asyncio
import json
import time
from concurrent.futures import ThreadPoolExecutor

from smolagents import LogLevel, ToolCallingAgent
from smolagents import tool as smol_tool
from smolagents.models import ChatMessage, ChatMessageToolCall, ChatMessageToolCallFunction, MessageRole, Model

from benchmarks.scenario import FINAL, PROMPT, record_now


class FakeModel(Model):
    def __init__(self, script):
        super().__init__(model_id="fake")
        self.script = script

    def generate(self, messages, stop_sequences=None, response_format=None, tools_to_call_from=None, **kw):
        s = self.script
        if s.sleep:
            time.sleep(s.sleep)
        calls = s.turn() or [("call_end", "final_answer", json.dumps({"answer": FINAL}))]
        return ChatMessage(
            role=MessageRole.ASSISTANT,
            content="",
            tool_calls=[
                ChatMessageToolCall(id=i, type="function", function=ChatMessageToolCallFunction(name=n, arguments=a))
                for i, n, a in calls
            ],
        )


record_now.__name__ = "record"
tool = smol_tool(record_now)
POOL = ThreadPoolExecutor(max_workers=256)


def session():
    async def run(script):
        def work():
            agent = ToolCallingAgent(
                tools=[tool], model=FakeModel(script), verbosity_level=LogLevel.OFF, max_steps=100_000
            )
            return agent.run(PROMPT)

        return await asyncio.get_running_loop().run_in_executor(POOL, work)

    return run
