"""openai-agents: custom Model, tracing off."""

import asyncio

from agents import Agent, Model, ModelResponse, RunConfig, Runner, Usage, function_tool, set_tracing_disabled
from openai.types.responses import ResponseFunctionToolCall, ResponseOutputMessage, ResponseOutputText

from benchmarks.scenario import FINAL, PROMPT, SYSTEM, record

set_tracing_disabled(True)


class FakeModel(Model):
    def __init__(self, script):
        self.script = script

    async def get_response(
        self,
        system_instructions,
        input,
        model_settings,
        tools,
        output_schema,
        handoffs,
        tracing,
        *,
        previous_response_id=None,
        conversation_id=None,
        prompt=None,
        **kw,
    ):
        s = self.script
        if s.sleep:
            await asyncio.sleep(s.sleep)
        calls = s.turn()
        if calls is None:
            out = [
                ResponseOutputMessage(
                    id="m",
                    role="assistant",
                    status="completed",
                    type="message",
                    content=[ResponseOutputText(text=FINAL, type="output_text", annotations=[])],
                )
            ]
        else:
            out = [ResponseFunctionToolCall(call_id=i, name=n, arguments=a, type="function_call") for i, n, a in calls]
        return ModelResponse(output=out, usage=Usage(), response_id=None)

    def stream_response(self, *a, **k):
        raise NotImplementedError


tool = function_tool(record)


def session():
    async def run(script):
        agent = Agent(name="clerk", instructions=SYSTEM, tools=[tool], model=FakeModel(script))
        r = await Runner.run(agent, PROMPT, max_turns=100_000, run_config=RunConfig(tracing_disabled=True))
        return r.final_output

    return run
