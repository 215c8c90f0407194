"""The harnesses that are measured, the lightest first."""

from __future__ import annotations

from typing import NamedTuple


class Peer(NamedTuple):
    """One harness: its adapter's name, what pip installs for it, and how a program imports it."""

    name: str
    requires: tuple[str, ...]
    imports: str
    threaded: bool = False
    """It works on threads of its own, so only some instruction counts are valid."""

    @property
    def distribution(self) -> str:
        """Whose version is reported."""
        return self.requires[0]


BARE = Peer("bare", ("jsonschema-rs",), "import asyncio, json, jsonschema_rs")
OURS = Peer("counterfoil", ("counterfoil",), "from counterfoil import Catalogue, Harness, Session, tool")
PEERS = (
    Peer("smolagents", ("smolagents",), "import smolagents", threaded=True),
    Peer("agno", ("agno", "openai"), "from agno.agent import Agent"),
    Peer("strands", ("strands-agents",), "import strands"),
    Peer("langchain", ("langchain",), "from langchain.agents import create_agent"),
    Peer("inspect_ai", ("inspect-ai",), "import inspect_ai; from inspect_ai.model import get_model"),
    Peer("pydantic_ai", ("pydantic-ai-slim",), "import pydantic_ai"),
    Peer("openai_agents", ("openai-agents",), "import agents"),
    Peer(
        "google_adk",
        ("google-adk",),
        "from google.adk.agents import LlmAgent; from google.adk.runners import Runner",
    ),
)
