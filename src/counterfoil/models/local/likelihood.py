"""What a model makes of a text that is given to it: its tokens, and the log-probability of each.

The `xllamacpp` wheel hands out no logits. Its server does tell, of each token that it decodes, the log-probability
under the model: the softmax over the whole vocabulary, before temperature and grammar. So a given text is decoded under
a grammar of exactly its tokens, and what is told of them is exact.
"""

from __future__ import annotations

import http.client
import json
import socket
from collections.abc import Sequence
from pathlib import Path
from typing import Any, cast
from urllib.parse import urlsplit

import msgspec

from counterfoil.models.local.llama import LlamaEngine
from counterfoil.types.error import ModelError

_SECONDS = 60.0


class Token(msgspec.Struct, frozen=True):
    """One token of a text: its number, and its bytes (which may be a part of a character)."""

    id: int
    piece: bytes


class LlamaLikelihood(LlamaEngine):
    """The engine, which also reads: `tokens` and `logprobs`."""

    _key = ""

    def _parameters(self, xllamacpp: Any, path: Path, threads: int) -> Any:
        parameters = super()._parameters(xllamacpp, path, threads)
        self._key = parameters.api_keys[0]
        return parameters

    def tokens(self, text: str) -> tuple[Token, ...]:
        """The tokens of a text, none added. What is written in it as a control token is spelt, not meant."""
        body = {"content": text, "add_special": False, "parse_special": False, "with_pieces": True}
        answer = msgspec.convert(self._ask("/tokenize", body), _Tokens)
        return tuple(
            Token(each.id, each.piece.encode() if isinstance(each.piece, str) else bytes(each.piece))
            for each in answer.tokens
        )

    def logprobs(self, before: Sequence[int], given: Sequence[int]) -> tuple[float, ...]:
        """The log-probability of each given token behind those before it: natural, over the whole vocabulary.

        Raises `ModelError`.
        """
        if not before:
            raise ModelError("the first token of all has no probability: give at least one before it")
        if not given:
            return ()
        body = {
            "prompt": list(before),
            "grammar": f"%llguidance {{}}\nstart: {' '.join(f'<[{each}]>' for each in given)}",
            "max_tokens": len(given),
            "stream": True,
            "temperature": 0.0,
            "logprobs": 1,
            "cache_prompt": True,
        }
        chunks: list[object] = []

        def take(chunk: object) -> bool:
            chunks.append(chunk)
            return False

        self._server.handle_completions(body, take)
        told: list[_Told] = []
        for chunk in msgspec.convert(chunks, list[_Chunk]):
            if chunk.error is not None:
                raise ModelError(f"llama.cpp failed: {chunk.error.message}")
            told += [each for choice in chunk.choices if choice.logprobs for each in choice.logprobs.content]
        if [each.id for each in told] != list(given):
            raise ModelError(f"llama.cpp decoded {len(told)} tokens that are not the {len(given)} given")
        return tuple(each.logprob for each in told)

    def _ask(self, path: str, body: dict[str, Any]) -> Any:
        connection = _connection(cast("str", self._server.listening_address))
        try:
            headers = {"content-type": "application/json", "authorization": f"Bearer {self._key}"}
            connection.request("POST", path, json.dumps(body), headers)
            answer = connection.getresponse()
            data = answer.read()
        except (OSError, http.client.HTTPException) as error:
            raise ModelError(f"llama.cpp did not answer: {error}") from error
        finally:
            connection.close()
        if answer.status != http.client.OK:
            raise ModelError(f"llama.cpp failed: {data[:200].decode(errors='replace')}")
        return msgspec.json.decode(data)


class _Piece(msgspec.Struct, frozen=True):
    id: int
    piece: str | list[int]


class _Tokens(msgspec.Struct, frozen=True):
    tokens: list[_Piece]


class _Told(msgspec.Struct, frozen=True):
    id: int
    logprob: float


class _Content(msgspec.Struct, frozen=True):
    content: tuple[_Told, ...] = ()


class _Choice(msgspec.Struct, frozen=True):
    logprobs: _Content | None = None


class _Failure(msgspec.Struct, frozen=True):
    message: str = ""


class _Chunk(msgspec.Struct, frozen=True):
    choices: tuple[_Choice, ...] = ()
    error: _Failure | None = None


class _Unix(http.client.HTTPConnection):
    """HTTP over a socket in the file system."""

    def __init__(self, path: str) -> None:
        super().__init__("localhost", timeout=_SECONDS)
        self._path = path

    def connect(self) -> None:
        self.sock = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        self.sock.settimeout(_SECONDS)
        self.sock.connect(self._path)


def _connection(address: str) -> http.client.HTTPConnection:
    found = urlsplit(address)
    if found.scheme == "unix":
        return _Unix(found.path)
    return http.client.HTTPConnection(found.hostname or "127.0.0.1", found.port, timeout=_SECONDS)
