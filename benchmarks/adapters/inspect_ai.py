"""inspect-ai: a ModelAPI of our own, Model.generate_loop + execute_tools, outside an eval (no transcript file).

The packaged mockllm dumps every message on each call, which would be charged to the harness.
"""

import asyncio
import json

from inspect_ai.model import (
    ChatMessageAssistant,
    ChatMessageSystem,
    ChatMessageUser,
    GenerateConfig,
    ModelAPI,
    ModelOutput,
    ModelUsage,
    get_model,
    modelapi,
)
from inspect_ai.model._model_output import ChatCompletionChoice
from inspect_ai.tool import ToolCall
from inspect_ai.tool import tool as ins_tool

from benchmarks.scenario import FINAL, PROMPT, SYSTEM
from benchmarks.scenario import record as record_fn


class Fake(ModelAPI):
    def __init__(self, model_name, base_url=None, api_key=None, config=None, script=None, **kw):
        super().__init__(model_name, base_url, api_key, [], config or GenerateConfig())
        self.script = script

    def max_connections(self):
        return 100_000

    async def generate(self, input, tools, tool_choice, config):
        s = self.script
        if s.sleep:
            await asyncio.sleep(s.sleep)
        calls = s.turn()
        if calls is None:
            m, why = ChatMessageAssistant(content=FINAL), "stop"
        else:
            m, why = (
                ChatMessageAssistant(
                    content="",
                    tool_calls=[
                        ToolCall(id=i, function=n, arguments=json.loads(a), type="function") for i, n, a in calls
                    ],
                ),
                "tool_calls",
            )
        return ModelOutput(
            model="fake",
            choices=[ChatCompletionChoice(message=m, stop_reason=why)],
            usage=ModelUsage(input_tokens=1, output_tokens=1, total_tokens=2),
        )


@modelapi(name="scripted")
def scripted():
    return Fake


@ins_tool
def record():
    return _execute


async def _execute(path: str, note: str, count: int) -> str:
    """Record a note against a path.

    Args:
        path: Where the note belongs.
        note: The note itself.
        count: How many times.
    """
    return await record_fn(path, note, count)


def session():
    async def run(script):
        model = get_model("scripted/x", script=script, memoize=False)
        _, out = await model.generate_loop(
            [ChatMessageSystem(content=SYSTEM), ChatMessageUser(content=PROMPT)], tools=[record()]
        )
        return out.completion

    return run
