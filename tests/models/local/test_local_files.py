"""Files: GGUF metadata and weights."""

import hashlib
import struct
from pathlib import Path
from typing import Any

import msgspec
import pytest

from counterfoil.models.local import WEIGHTS, find, gguf
from counterfoil.models.local.__main__ import main
from counterfoil.types.error import ModelError


def _string(text: str) -> bytes:
    return struct.pack("<Q", len(text.encode())) + text.encode()


def _value(value: Any) -> bytes:
    match value:
        case str():
            return struct.pack("<I", 8) + _string(value)
        case int():
            return struct.pack("<II", 4, value)
        case [str(), *_]:
            return struct.pack("<IIQ", 9, 8, len(value)) + b"".join(_string(each) for each in value)
        case _:
            return struct.pack("<IIQ", 9, 5, len(value)) + struct.pack(f"<{len(value)}i", *value)


def model(**more: Any) -> bytes:
    values: dict[str, Any] = {
        "general.architecture": "llama",
        "general.name": "Tiny",
        "general.license": "mit",
        "llama.context_length": 99,
        "tokenizer.chat_template": "{{ messages }}",
        "tokenizer.ggml.tokens": ["a", "<|end|>", "<tool>"],
        "tokenizer.ggml.token_type": [1, 3, 4],
        "tokenizer.ggml.eos_token_id": 1,
        **more,
    }
    body = b"".join(_string(name) + _value(value) for name, value in values.items())
    return b"GGUF" + struct.pack("<IQQ", 3, 0, len(values)) + body


def test_metadata_is_read(tmp_path: Path) -> None:
    path = tmp_path / "tiny.gguf"
    path.write_bytes(model())
    found = gguf.read(path)
    assert found == gguf.Metadata("Tiny", "llama", "mit", "{{ messages }}", 99, ("<|end|>", "<tool>"), "", "<|end|>")


def test_a_base_model_is_turned_down(tmp_path: Path) -> None:
    path = tmp_path / "base.gguf"
    path.write_bytes(model(**{"tokenizer.chat_template": ""}))
    with pytest.raises(ModelError, match="no chat template"):
        gguf.read(path)


def test_damage_is_a_clear_error_wherever_it_is(tmp_path: Path) -> None:
    whole, path = model(), tmp_path / "cut.gguf"
    for length in range(0, len(whole), 7):
        path.write_bytes(whole[:length])
        with pytest.raises(ModelError, match=r"cut\.gguf"):
            gguf.read(path)
    path.write_bytes(b"GGUF" + struct.pack("<IQQQ", 3, 0, 1, 1 << 60))
    with pytest.raises(ModelError, match="damaged"):
        gguf.read(path)
    path.write_bytes(b"GGUF" + struct.pack("<IQQ", 9, 0, 0))
    with pytest.raises(ModelError, match="version 9"):
        gguf.read(path)


def test_missing_weights_say_the_line(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("COUNTERFOIL_WEIGHTS", str(tmp_path))
    nowhere = msgspec.structs.replace(WEIGHTS["smollm2"], package="not-installed-anywhere")
    with pytest.raises(ModelError, match=r"python -m counterfoil\.models\.local fetch smollm2"):
        find(nowhere)


def test_other_weights_under_the_same_name_are_not_believed(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("COUNTERFOIL_WEIGHTS", str(tmp_path))
    mine = msgspec.structs.replace(WEIGHTS["smollm2"], member="x/mine.bin", sha256=hashlib.sha256(b"good").hexdigest())
    (tmp_path / "mine.bin").write_bytes(b"good")
    assert find(mine) == tmp_path / "mine.bin"
    (tmp_path / "mine.bin").write_bytes(b"evil")
    with pytest.raises(ModelError, match="sha256 differs"):
        find(mine)


def test_the_command_lists_and_turns_down(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["list"]) == 0
    said = capsys.readouterr().out
    assert "smollm2" in said
    assert "Apache-2.0" in said
    with pytest.raises(SystemExit):
        main(["fetch", "nope"])


def test_the_command_fetches_what_is_pinned(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["fetch", "smollm2"]) == 0
    assert WEIGHTS["smollm2"].file in capsys.readouterr().out
