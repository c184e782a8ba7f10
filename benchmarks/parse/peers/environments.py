"""The peers' own environments under ``build/``, made on first use from locked requirements."""

import os
import subprocess
from collections.abc import Mapping
from hashlib import sha256
from pathlib import Path
from types import MappingProxyType
from typing import Final

from local.checkout import ROOT

_UV: Final = ROOT / "build" / "uv" / "bin" / "uv"
_FOLDER: Final = ROOT / "build" / "bench"
_PYTHONS: Final[Mapping[str, str]] = MappingProxyType({"quixstreams": "3.13", "bytewax": "3.12"})
"""The newest that each has a wheel for."""


class PeerMissingError(Exception):
    """A peer cannot be installed on this machine; the others can be measured without it."""


def python_of(peer: str) -> Path:
    """The Python of a peer's environment.

    Raises:
        PeerMissingError: It cannot be made.
    """
    requirements = Path(__file__).parent / f"{peer}.txt"
    environment = _FOLDER / peer
    made, wanted = environment / "made_from", sha256(requirements.read_bytes()).hexdigest()
    python = environment / "bin" / "python"
    if not made.exists() or made.read_text() != wanted:
        version = _PYTHONS[peer]
        _run("venv", "--clear", "--no-python-downloads", "--python", version, str(environment))
        _run(
            "pip", "install", "--only-binary", ":all:", "--require-hashes",
            "--python", str(python), "--requirements", str(requirements),
        )  # fmt: skip
        made.write_text(wanted)
    return python


def _run(*arguments: str) -> None:
    uv = str(_UV) if _UV.exists() else "uv"
    # Where pyenv stands before the Pythons on the path, this lets it give any of its own.
    environment = {**os.environ, "PYENV_VERSION": ":".join(sorted(_PYTHONS.values()))}  # noqa: TID251 - passed on
    result = subprocess.run(  # noqa: S603 - our own command
        [uv, "--quiet", *arguments], capture_output=True, text=True, check=False, env=environment
    )
    if result.returncode:
        raise PeerMissingError(result.stderr.strip())
