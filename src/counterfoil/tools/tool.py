"""One callable thing: what a model is told of it, what may happen, and how it runs."""

from __future__ import annotations

import functools
import inspect
import logging
import re
from collections.abc import Awaitable, Callable, Collection, Coroutine, Mapping
from typing import Any, overload

import anyio.to_thread
import msgspec

from counterfoil.tools.arguments import HIDDEN, compile_schema, problems, veiled_problems
from counterfoil.tools.closed import close
from counterfoil.tools.context import Context
from counterfoil.tools.declared import agreed
from counterfoil.tools.guess import handling, named
from counterfoil.tools.limits import Limits
from counterfoil.tools.markers import shape_of
from counterfoil.tools.result import Content, to_builtins, to_content
from counterfoil.tools.secret import Places
from counterfoil.tools.signature import Signature
from counterfoil.tools.trust import Trust, labelling
from counterfoil.types.entry import Effect
from counterfoil.types.error import CatalogueError
from counterfoil.types.json import is_object, own
from counterfoil.types.label import Integrity
from counterfoil.types.message import Text
from counterfoil.types.request import ToolSpec
from counterfoil.types.session import Session

log = logging.getLogger("counterfoil.tools")

Authorize = Callable[[Session, dict[str, Any]], "str | Awaitable[str | None] | None"]
"""May this requester do this to this object? `None`: yes; a string: no, and why, for the model to read."""

Invoke = Callable[[dict[str, Any], Context], Coroutine[Any, Any, Any]]
Lookup = Callable[[str], Awaitable[Any]]
_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_.:/-]{0,127}")


class WithheldOutput(Exception):
    """A tool returned something that its `output_schema` does not allow, or that has no JSON form."""


class Tool:
    """A tool, wherever it comes from: a function (`@tool`), a JSON declaration, an MCP server.

    `spec` is what a model is told; `effect`, `permission`, `authorize` and `limits` are for the gate and are told to
    nobody. Calling the tool calls the function it was made of, as plain Python, for tests and other code: what a model
    asks for goes through a `Harness`.
    """

    def __init__(
        self,
        spec: ToolSpec,
        invoke: Invoke,
        *,
        effect: Effect = "write",
        permission: str | None = None,
        authorize: Authorize | None = None,
        limits: Limits | None = None,
        returns: Collection[str] | dict[str, Integrity] | None = None,
        trust: Trust | None = None,
        lookup: Lookup | None = None,
        coerce: bool = False,
        convert: Callable[[dict[str, Any]], dict[str, Any]] | None = None,
        function: Callable[..., Any] | None = None,
        may_fail: bool = True,
        extras: Mapping[str, tuple[Any, ...]] | None = None,
        contextual: bool = True,
        answers: bool = False,
        result: dict[str, Any] | None = None,
        returned: Any = None,
    ) -> None:
        if not _NAME.fullmatch(spec.name):
            raise CatalogueError(
                f"{spec.name!r} cannot be a tool's name: use letters, digits, _ and -, up to 128, not a digit first"
            )
        if effect not in ("read", "idempotent", "write", "irreversible"):
            raise CatalogueError(f"{spec.name}: effect must be read, idempotent, write or irreversible, not {effect!r}")
        self.limits = limits or Limits()
        if self.limits.timeout is None and effect in ("write", "irreversible"):
            raise CatalogueError(
                f"{spec.name}: a tool that writes needs a timeout; without one a call can hang in doubt"
            )
        if self.limits.concurrent is not None and self.limits.concurrent < 1:
            raise CatalogueError(f"{spec.name}: concurrent={self.limits.concurrent} would let no call begin: from 1")
        self.spec = msgspec.structs.replace(spec, parameters=close(spec.parameters or {"type": "object"}))
        self.name = spec.name
        self.effect: Effect = effect
        self.permission = permission if permission is not None else spec.name
        self.authorize = authorize
        self.extras = extras or {}
        self._returned = returned
        self.returns, trust = labelling(spec.name, returns, trust)
        self.trust = agreed(
            spec.name,
            effect,
            trust,
            parameters=self.spec.parameters,
            markers=self.extras,
            shape=lambda: self.shape,
            kept=self.returns,
        )
        """What is declared of it for the provenance check, whichever way; `None` if nothing is."""
        self.lookup = lookup
        self.coerce = coerce
        self.function = function
        self.contextual = contextual
        """Whether it looks at the `Context` of a call."""
        self.answers = answers
        """Whether calling it is how a structured answer is given: no ceiling may stand in its way."""
        places = Places(self.spec.parameters)
        self.secrets = places if places.any else None
        """Where its arguments are secrets: then what they are is told to nobody else."""
        self.result = result
        """The schema of what it returns, where there are secrets in that."""
        places = Places(result or spec.output_schema or {})
        self.secret_result = places if places.any else None
        self.secretive = self.secrets is not None or self.secret_result is not None
        if self.secrets is not None:
            _reject_counted(self.secrets, self.limits, spec.name)
        self.validator = compile_schema(self.spec.parameters, spec.name)
        self._is_valid = self.validator.is_valid
        self.accepts: Callable[[dict[str, Any]], bool] = self._accepts if may_fail and convert else self._is_valid
        """Whether arguments fit: what `problems` finds nothing wrong with, told faster."""
        self._output = compile_schema(spec.output_schema, f"{spec.name} output") if spec.output_schema else None
        # Giving the answer acts on nobody, and what comes back is a sentence of ours.
        believed = Trust(act="read", returns="system") if answers else self.trust
        claims: Any = spec.ext.get("mcp", {}).get("annotations")
        self.how = handling(spec.name, self.spec.parameters, effect, believed, self.extras, claims)
        """How the provenance check treats it: what is declared, and guesses for the rest."""
        self._convert = convert
        self._may_fail = may_fail
        self.invoke = invoke
        """Start a call with valid arguments and a `Context`: what it is awaited for is what the function returns."""

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        """Call the function that the tool was made of."""
        if self.function is None:
            raise TypeError(f"{self.name} was not made of a function: send calls for it through a Harness")
        return self.function(*args, **kwargs)

    def __repr__(self) -> str:
        return f"Tool({self.name!r}, effect={self.effect!r}, permission={self.permission!r})"

    @functools.cached_property
    def shape(self) -> dict[str, Any] | None:
        """The schema of what it returns, where that is known."""
        return self.spec.output_schema or shape_of(self._returned)

    def _accepts(self, arguments: dict[str, Any]) -> bool:
        return self._is_valid(arguments) and not self.problems(arguments)

    def problems(self, arguments: dict[str, Any]) -> list[str]:
        """Say everything that is wrong with some arguments; empty when they fit."""
        if self.secrets is not None:
            return self._veiled_problems(arguments, self.secrets)
        if not self._is_valid(arguments):
            return problems(self.validator, arguments, self.spec.parameters)
        if self._convert is not None and self._may_fail:
            try:
                self._convert(arguments)
            except msgspec.ValidationError as error:
                return [str(error)]
            except Exception as error:  # the types are the user's, and run code of theirs
                log.error("%s: a type of its parameters raised", self.name, exc_info=error)
                return ["$: the arguments could not be read as the types that the tool takes"]
        return []

    def _veiled_problems(self, arguments: dict[str, Any], secrets: Places) -> list[str]:
        """Say what is wrong with arguments of which some must not be shown: only of the others what they are."""
        veiled = secrets.replace(arguments, lambda _: HIDDEN)
        if not self._is_valid(arguments):
            return veiled_problems(self.validator, arguments, veiled, self.spec.parameters, secrets.found(arguments))
        if self._convert is None or not self._may_fail:
            return []
        try:
            self._convert(arguments)
        except Exception as error:  # noqa: BLE001 what it says may quote a secret
            log.error("%s: a type of its parameters raised %s", self.name, type(error).__name__)
        else:
            return []
        try:
            self._convert(veiled)
        except msgspec.ValidationError as error:  # which has seen no secret
            return [str(error)]
        except Exception:  # noqa: BLE001 the same as above
            log.error("%s: a type of its parameters raised again", self.name)
        return ["$: a secret argument could not be read as the type that the tool takes (it is not shown)"]

    def content(self, value: Any, veil: Callable[[Any], Any] | None = None) -> Content:
        """Make a result's content of what the tool returned. Raises `WithheldOutput`.

        `veil` is put over it, as plain JSON values, when it has been validated.
        """
        if (
            veil is None
            and type(value) is str
            and len(value) <= self.limits.result_chars
            and self.returns is None
            and not self._output
            and value.isascii()
        ):
            return (Text(value),)
        try:
            return self._content(value, veil)
        except TypeError as error:
            raise WithheldOutput(f"{self.name}: {error}") from error

    def _content(self, value: Any, veil: Callable[[Any], Any] | None) -> Content:
        if self._output is not None and not self._output.is_valid(to_builtins(value)):
            raise WithheldOutput(f"{self.name} returned something that its output_schema does not allow")
        if veil is not None:
            value = veil(to_builtins(value))
        return to_content(value, self.returns, self.limits.result_chars)

    def renamed(self, name: str) -> Tool:
        """The same tool under another name, with the permission that it has now."""
        tool = Tool(
            msgspec.structs.replace(self.spec, name=name),
            self.invoke,
            effect=self.effect,
            permission=self.permission,
            authorize=self.authorize,
            limits=self.limits,
            returns=self.returns,
            trust=self.trust,
            lookup=self.lookup,
            coerce=self.coerce,
            convert=self._convert,
            may_fail=self._may_fail,
            function=self.function,
            extras=self.extras,
            contextual=self.contextual,
            result=self.result,
            returned=self._returned,
        )
        tool.how = named(self.how, name)
        return tool

    @classmethod
    def from_declaration(
        cls, declaration: Mapping[str, Any] | ToolSpec, function: Callable[..., Any], **options: Any
    ) -> Tool:
        """Make a tool of a JSON declaration and a callable that takes the arguments by name.

        `declaration` has `name`, `description`, and the JSON Schema of the arguments under `parameters`
        (`input_schema`, `inputSchema` are read too). An MCP server's `annotations` are kept as what they are, claims.
        `options` are those of `Tool`. Raises `CatalogueError`.
        """
        if isinstance(declaration, ToolSpec):
            spec = declaration
        else:
            schema = declaration.get("parameters", declaration.get("input_schema", declaration.get("inputSchema")))
            output = declaration.get("output_schema", declaration.get("outputSchema"))
            if not isinstance(declaration.get("name"), str) or not is_object(schema):
                raise CatalogueError("a tool declaration needs a name and an object of JSON Schema under 'parameters'")
            claims = declaration.get("annotations")
            ext: Any = {"mcp": {"annotations": dict(claims)}} if is_object(claims) else {}
            said = declaration.get("description", "")
            spec = ToolSpec(declaration["name"], said, schema, output_schema=output, ext=ext)
        context = next(
            (n for n, p in inspect.signature(function).parameters.items() if p.annotation in (Context, "Context")), None
        )
        invoke = _caller(function, context, own)
        return cls(spec, invoke, function=function, contextual=context is not None, **options)


def _caller(
    function: Callable[..., Any], context_name: str | None, convert: Callable[[dict[str, Any]], dict[str, Any]] | None
) -> Invoke:
    """Make the function that starts a call: a coroutine, in a thread when `function` blocks."""

    def given(arguments: dict[str, Any]) -> dict[str, Any]:
        return convert(arguments) if convert is not None else arguments

    if inspect.iscoroutinefunction(function):
        if context_name is not None:
            return lambda arguments, context: function(**given(arguments), **{context_name: context})
        if convert is not None:
            return lambda arguments, context: function(**convert(arguments))
        return lambda arguments, context: function(**arguments)

    async def in_thread(arguments: dict[str, Any], context: Context) -> Any:
        # Abandoned on a timeout: the thread runs on, but nobody waits for it. For a write that is a doubt.
        extra = {} if context_name is None else {context_name: context}
        call = functools.partial(function, **given(arguments), **extra)
        (value,) = await anyio.to_thread.run_sync(lambda: (call(),), abandon_on_cancel=True)
        # A coroutine function under a decorator that hides that it is one.
        return await value if inspect.isawaitable(value) else value

    return in_thread


def _reject_counted(secrets: Places, limits: Limits, label: str) -> None:
    for name in (*limits.clamps, *limits.sums):
        if secrets.names_at_top(name):
            raise CatalogueError(f"{label}: {name} is a Secret, and a limit on it would tell what it is: leave it out")


def _make(function: Callable[..., Any], name: str | None, description: str | None, **options: Any) -> Tool:
    name = name or getattr(function, "__name__", None)
    if name is None:
        raise CatalogueError(f"give the tool made of {function!r} a name: tool(name='...')(...)")
    signature = Signature(function)
    output_schema, strict = options.pop("output_schema", None), options.pop("strict", None)
    spec = ToolSpec(
        name,
        description if description is not None else signature.description,
        signature.schema,
        strict=strict,
        output_schema=output_schema,
    )
    convert = signature.convert if signature.numbers or signature.shared or not signature.simple else None
    return Tool(
        spec,
        _caller(function, signature.context, convert),
        convert=convert,
        may_fail=signature.may_fail,
        function=function,
        extras=signature.extras,
        contextual=signature.context is not None,
        result=signature.result,
        returned=signature.returned,
        **options,
    )


@overload
def tool(function: Callable[..., Any], /) -> Tool: ...
@overload
def tool(
    *,
    effect: Effect = ...,
    permission: str | None = ...,
    authorize: Authorize | None = ...,
    limits: Limits | None = ...,
    returns: Collection[str] | dict[str, Integrity] | None = ...,
    trust: Trust | None = ...,
    lookup: Lookup | None = ...,
    coerce: bool = ...,
    name: str | None = ...,
    description: str | None = ...,
    output_schema: dict[str, Any] | None = ...,
    strict: bool | None = ...,
) -> Callable[[Callable[..., Any]], Tool]: ...
def tool(
    function: Callable[..., Any] | None = None,
    /,
    *,
    effect: Effect = "write",
    permission: str | None = None,
    authorize: Authorize | None = None,
    limits: Limits | None = None,
    returns: Collection[str] | dict[str, Integrity] | None = None,
    trust: Trust | None = None,
    lookup: Lookup | None = None,
    coerce: bool = False,
    name: str | None = None,
    description: str | None = None,
    output_schema: dict[str, Any] | None = None,
    strict: bool | None = None,
) -> Tool | Callable[[Callable[..., Any]], Tool]:
    """Make a `Tool` of a typed function, sync or async: its name, docstring and type hints are the declaration.

    `effect` is `read`, `idempotent`, `write` (the default) or `irreversible`; `permission` the scope that the requester
    must hold (default: the tool's name); `authorize(session, arguments)` returns a reason when this requester may not
    do this to that object; `returns` keeps only those fields of the result, or, as a dict, keeps them all and says who
    can write each (`{"id": System}`); `trust` says more of that kind for the provenance check; `lookup(key)` asks the
    service whether the call with that idempotency key happened, and returns what the tool would have, or `None`;
    `coerce` lets a string that parses as the number or object the schema wants pass as that; `strict` asks the provider
    to decode by the schema, where it has such a mode. Raises `CatalogueError` saying what to change.
    """
    options = {
        "effect": effect,
        "permission": permission,
        "authorize": authorize,
        "limits": limits,
        "returns": returns,
        "trust": trust,
        "lookup": lookup,
        "coerce": coerce,
        "output_schema": output_schema,
        "strict": strict,
    }
    if function is not None:
        return _make(function, name, description, **options)

    def decorate(function: Callable[..., Any]) -> Tool:
        return _make(function, name, description, **options)

    return decorate
