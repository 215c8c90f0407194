"""langchain create_agent (a langgraph graph): one compiled graph per session, because it holds the model."""

import asyncio
import json

from langchain.agents import create_agent
from langchain_core.language_models.chat_models import BaseChatModel
from langchain_core.messages import AIMessage
from langchain_core.outputs import ChatGeneration, ChatResult
from langchain_core.tools import tool as lc_tool

from benchmarks.scenario import FINAL, PROMPT, SYSTEM, record


class FakeModel(BaseChatModel):
    script: object = None

    @property
    def _llm_type(self):
        return "fake"

    def bind_tools(self, tools, **kw):
        return self

    def _generate(self, messages, stop=None, run_manager=None, **kw):
        raise NotImplementedError

    async def _agenerate(self, messages, stop=None, run_manager=None, **kw):
        s = self.script
        if s.sleep:
            await asyncio.sleep(s.sleep)
        calls = s.turn()
        if calls is None:
            m = AIMessage(content=FINAL)
        else:
            m = AIMessage(
                content="",
                tool_calls=[{"id": i, "name": n, "args": json.loads(a), "type": "tool_call"} for i, n, a in calls],
            )
        return ChatResult(generations=[ChatGeneration(message=m)])


tool = lc_tool(record)


def session():
    async def run(script):
        graph = create_agent(FakeModel(script=script), tools=[tool], system_prompt=SYSTEM)
        r = await graph.ainvoke(
            {"messages": [{"role": "user", "content": PROMPT}]}, config={"recursion_limit": 1_000_000}
        )
        return r["messages"][-1].content

    return run
