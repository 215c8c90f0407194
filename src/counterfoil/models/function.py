"""A model that is a function of yours."""

from __future__ import annotations

import inspect
from collections.abc import Awaitable, Callable

from counterfoil.models.model import BaseModel
from counterfoil.types.message import Message, Text
from counterfoil.types.request import Reply, Request


class Function(BaseModel):
    """Answers with what a function returns for each `Request`: a `Reply`, or a string. Sync or async."""

    def __init__(
        self, function: Callable[[Request], Reply | str | Awaitable[Reply | str]], *, name: str = "function"
    ) -> None:
        self._function = function
        self.name = name

    async def reply(self, request: Request) -> Reply:
        """Ask the function."""
        said = self._function(request)
        if inspect.isawaitable(said):
            said = await said
        return Reply(Message("assistant", (Text(said),))) if isinstance(said, str) else said
