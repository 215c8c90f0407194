"""The same harness for code without an event loop: every method blocks until it is done."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterable, Iterator
from contextlib import AbstractContextManager
from types import TracebackType
from typing import Any, Literal, Self

from anyio.from_thread import BlockingPortal, start_blocking_portal

from counterfoil.gate.gate import Gate
from counterfoil.journal.journal import Journal
from counterfoil.models.model import Model
from counterfoil.run.event import Event, Watch
from counterfoil.run.harness import Harness as AsyncHarness
from counterfoil.run.harness import Prompt, Wake
from counterfoil.run.resolve import Resolve
from counterfoil.run.run import Confirmation, Doubt, Run
from counterfoil.tools.catalogue import Catalogue
from counterfoil.types.grant import Always, Grant
from counterfoil.types.message import Message, ToolCall, ToolResult
from counterfoil.types.plan import Intent
from counterfoil.types.request import Sampling
from counterfoil.types.session import Session


class Harness:
    """A `counterfoil.Harness` whose event loop runs in a thread of its own, from the first call until `close`.

    Takes the same arguments, and may be called from any number of threads. Use it as a context manager, or `close` it.
    """

    def __init__(
        self,
        model: Model | None,
        catalogue: Catalogue,
        *,
        gate: Gate | None = None,
        journal: Journal | None = None,
        instructions: str = "",
        sampling: Sampling | None = None,
        resolve: Resolve | None = None,
        wake: Wake | None = None,
        secrets_key: bytes | None = None,
    ) -> None:
        self.harness = AsyncHarness(
            model,
            catalogue,
            gate=gate,
            journal=journal,
            instructions=instructions,
            sampling=sampling,
            resolve=resolve,
            wake=wake,
            secrets_key=secrets_key,
        )
        self._lock = threading.Lock()
        self._opening: AbstractContextManager[BlockingPortal] | None = None
        self._portal: BlockingPortal | None = None

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def close(self) -> None:
        """End the event loop's thread. The journal stays open: close it where it was made."""
        with self._lock:
            if self._opening is not None:
                self._opening.__exit__(None, None, None)
                self._opening = self._portal = None

    def _call(self, function: Callable[..., Any], *args: Any, **kwargs: Any) -> Any:
        with self._lock:
            if (portal := self._portal) is None:
                self._opening = start_blocking_portal()
                portal = self._portal = self._opening.__enter__()
        return portal.call(lambda: function(*args, **kwargs))

    def run(
        self,
        prompt: Prompt,
        session: Session,
        *,
        run_id: str | None = None,
        history: Iterable[Message] = (),
        output: Any = None,
        plan: Iterable[Intent] | None = None,
        watch: Watch | None = None,
    ) -> Run:
        """See `counterfoil.Harness.run`. `watch` is called in the event loop's thread."""
        run: Run = self._call(
            self.harness.run,
            prompt,
            session,
            run_id=run_id,
            history=history,
            output=output,
            plan=plan,
            watch=watch,
        )
        return run

    def stream(
        self,
        prompt: Prompt,
        session: Session,
        *,
        run_id: str | None = None,
        history: Iterable[Message] = (),
        output: Any = None,
        plan: Iterable[Intent] | None = None,
        watch: Watch | None = None,
    ) -> Iterator[Event | Run]:
        """See `counterfoil.Harness.stream`."""
        return self._iterate(
            self.harness.stream(prompt, session, run_id=run_id, history=history, output=output, plan=plan, watch=watch)
        )

    def _iterate(self, events: Any) -> Iterator[Event | Run]:
        end = object()

        async def following() -> Any:
            return await anext(events, end)

        try:
            while (event := self._call(following)) is not end:
                yield event
        finally:
            self._call(events.aclose)

    def submit(
        self,
        prompt: Prompt,
        session: Session,
        *,
        run_id: str | None = None,
        history: Iterable[Message] = (),
        output: Any = None,
        plan: Iterable[Intent] | None = None,
    ) -> str:
        """See `counterfoil.Harness.submit`."""
        id: str = self._call(
            self.harness.submit, prompt, session, run_id=run_id, history=history, output=output, plan=plan
        )
        return id

    def resume(self, run_id: str, *, output: Any = None, watch: Watch | None = None) -> Run:
        """See `counterfoil.Harness.resume`."""
        run: Run = self._call(self.harness.resume, run_id, output=output, watch=watch)
        return run

    def resume_stream(self, run_id: str, *, output: Any = None, watch: Watch | None = None) -> Iterator[Event | Run]:
        """See `counterfoil.Harness.resume_stream`."""
        return self._iterate(self.harness.resume_stream(run_id, output=output, watch=watch))

    def call(
        self, call: ToolCall, session: Session, *, run_id: str | None = None, watch: Watch | None = None
    ) -> ToolResult | Confirmation:
        """See `counterfoil.Harness.call`."""
        result: ToolResult | Confirmation = self._call(self.harness.call, call, session, run_id=run_id, watch=watch)
        return result

    def read(self, run_id: str) -> Run:
        """See `counterfoil.Harness.read`."""
        run: Run = self._call(self.harness.read, run_id)
        return run

    def confirmations(self, run_id: str | None = None) -> list[Confirmation]:
        """See `counterfoil.Harness.confirmations`."""
        found: list[Confirmation] = self._call(self.harness.confirmations, run_id)
        return found

    def answer(
        self,
        confirmation_id: str,
        *,
        approve: bool,
        by: str,
        reason: str = "",
        arguments: dict[str, Any] | None = None,
        digest: str | None = None,
        always: Always | None = None,
    ) -> Confirmation:
        """See `counterfoil.Harness.answer`."""
        found: Confirmation = self._call(
            self.harness.answer,
            confirmation_id,
            approve=approve,
            by=by,
            reason=reason,
            arguments=arguments,
            digest=digest,
            always=always,
        )
        return found

    def grants(self, requester: str | None = None) -> list[Grant]:
        """See `counterfoil.Harness.grants`."""
        found: list[Grant] = self._call(self.harness.grants, requester)
        return found

    def revoke(self, grant_id: str, *, by: str) -> Grant:
        """See `counterfoil.Harness.revoke`."""
        found: Grant = self._call(self.harness.revoke, grant_id, by=by)
        return found

    def doubts(self, run_id: str | None = None) -> list[Doubt]:
        """See `counterfoil.Harness.doubts`."""
        found: list[Doubt] = self._call(self.harness.doubts, run_id)
        return found

    def settle(
        self,
        run_id: str,
        call_id: str,
        how: Literal["happened", "retry", "abandon"],
        *,
        by: str,
        result: str | None = None,
        started_at: float | None = None,
    ) -> None:
        """See `counterfoil.Harness.settle`."""
        self._call(self.harness.settle, run_id, call_id, how, by=by, result=result, started_at=started_at)

    def declassify(self, run_id: str, call_id: str, *, by: str) -> None:
        """See `counterfoil.Harness.declassify`."""
        self._call(self.harness.declassify, run_id, call_id, by=by)

    def cancel(self, run_id: str, *, by: str = "the application", reason: str = "") -> Run:
        """See `counterfoil.Harness.cancel`."""
        run: Run = self._call(self.harness.cancel, run_id, by=by, reason=reason)
        return run
