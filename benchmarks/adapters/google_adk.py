"""google-adk: custom BaseLlm, LlmAgent, in-memory session service."""

import asyncio
import itertools
import json

from google.adk.agents import LlmAgent
from google.adk.agents.run_config import RunConfig
from google.adk.models.base_llm import BaseLlm
from google.adk.models.llm_response import LlmResponse
from google.adk.runners import Runner
from google.adk.sessions import InMemorySessionService
from google.genai import types

from benchmarks.scenario import FINAL, PROMPT, SYSTEM, record

_n = itertools.count()


class FakeModel(BaseLlm):
    model: str = "fake"
    script: object = None

    async def generate_content_async(self, llm_request, stream=False):
        s = self.script
        if s.sleep:
            await asyncio.sleep(s.sleep)
        calls = s.turn()
        if calls is None:
            parts = [types.Part(text=FINAL)]
        else:
            parts = [
                types.Part(function_call=types.FunctionCall(id=i, name=n, args=json.loads(a))) for i, n, a in calls
            ]
        yield LlmResponse(content=types.Content(role="model", parts=parts))


def session():
    async def run(script):
        svc = InMemorySessionService()
        agent = LlmAgent(name="clerk", model=FakeModel(script=script), instruction=SYSTEM, tools=[record])
        runner = Runner(app_name="bench", agent=agent, session_service=svc)
        s = await svc.create_session(app_name="bench", user_id=f"u{next(_n)}")
        out = ""
        async for ev in runner.run_async(
            user_id=s.user_id,
            session_id=s.id,
            run_config=RunConfig(max_llm_calls=0),
            new_message=types.Content(role="user", parts=[types.Part(text=PROMPT)]),
        ):
            if ev.content and ev.content.parts:
                for p in ev.content.parts:
                    if p.text:
                        out = p.text
        return out

    return run
