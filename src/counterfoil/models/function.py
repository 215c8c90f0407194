"""A model that is a function of yours."""

from __future__ import annotations

import inspect
from collections.abc import Awaitable, Callable

from counterfoil.models.model import BaseModel
from counterfoil.models.scripted import Turn, reply_of
from counterfoil.types.request import Reply, Request


class Function(BaseModel):
    """Answers with what a function returns for a `Request`: a string, a list of blocks or a `Reply`. Sync or async."""

    def __init__(self, function: Callable[[Request], Turn | Awaitable[Turn]], *, name: str = "function") -> None:
        self._function = function
        self.name = name

    async def reply(self, request: Request) -> Reply:
        """Ask the function."""
        said = self._function(request)
        if inspect.isawaitable(said):
            said = await said
        return reply_of(said)
