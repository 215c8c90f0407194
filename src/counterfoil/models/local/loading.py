"""Load a local model by name or path."""

from __future__ import annotations

from pathlib import Path

from counterfoil.models.local import extra, gguf
from counterfoil.models.local.chat import Chat
from counterfoil.models.local.llama import LlamaEngine
from counterfoil.models.local.llama_model import LlamaModel
from counterfoil.models.local.needle import NeedleModel
from counterfoil.models.local.policy import PLAIN, SMALL, Policy
from counterfoil.models.local.weights import WEIGHTS, Progress, find
from counterfoil.text.embedded.family import detect
from counterfoil.types.error import ModelError

DEFAULT = "smollm2"
"""What `load` takes when nothing is named: the one that serves the demonstration better (`evals/local_demo`)."""


def load(
    name: str | Path = DEFAULT,
    *,
    progress: Progress | None = None,
    context: int = 4096,
    threads: int = 1,
    seed: int | None = None,
    policy: Policy | None = None,
) -> LlamaModel | NeedleModel:
    """Load a local model: `"smollm2"`, `"needle"`, or the path of a GGUF file (each also as `"local:..."`).

    Blocking (about half a second; call it on a worker thread from async code) and without any network. `progress` is
    called with what is being done and how far it is, 0 to 1. `context` is in tokens, and is cut to what the model was
    trained for. Keep `threads` to the cores that are really free: llama.cpp's threads wait for each other, and collapse
    under contention. `seed` is for requests that ask for a temperature and name none. `policy` is how much help the
    model gets: by default `SMALL` for SmolLM2 and `PLAIN` for a file of yours. The result is a `Model` (and a context
    manager; `close()` frees it).

    Raises `MissingExtra` naming the `pip install` line, or `ModelError`: no weights (with the line that fetches them),
    not a GGUF file, no chat template.
    """
    wanted = str(name).removeprefix("local:") or DEFAULT
    # Said before the weights are looked for: whoever has neither should read this line first.
    extra.check(extra.NEEDLE if wanted == "needle" else extra.LLAMA)
    if wanted == "needle":
        return NeedleModel(find(WEIGHTS["needle"], progress), progress=progress, seed=seed)
    if wanted in WEIGHTS:
        path, label = find(WEIGHTS[wanted], progress), f"local:{wanted}"
    else:
        path, label = Path(wanted).expanduser(), f"local:{Path(wanted).name}"
        if not path.is_file():
            raise ModelError(f"There is no file {wanted}, and no local model of that name: {', '.join(WEIGHTS)}.")
    report = progress or _silent
    report("reading the metadata", 0.0)
    metadata = gguf.read(path)
    chat = Chat(metadata, detect(metadata.template))
    report("loading the weights", 0.3)
    engine = LlamaEngine(path, min(context, metadata.context), threads)
    report("ready", 1.0)
    return LlamaModel(label, engine, chat, policy or (SMALL if wanted in WEIGHTS else PLAIN), seed)


def _silent(what: str, part: float) -> None:
    del what, part
