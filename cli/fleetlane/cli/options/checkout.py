"""The checkout that this command lies in, and the uv that set it up."""

import os
import shlex
import shutil
from pathlib import Path
from typing import Final

_ROOT: Final = Path(__file__).resolve().parents[4]


def checkout_root() -> Path | None:
    """The checkout's folder; ``None`` where this command was installed by itself."""
    return _ROOT if (_ROOT / "local" / "checkout.py").is_file() else None


def uv_program() -> Path | None:
    """The uv that set this checkout up; ``None`` stands for the one on ``PATH``."""
    ours = _ROOT / "build" / "uv" / "bin" / "uv"
    return ours if ours.is_file() else None


def command_here() -> str:
    """How a shell in this folder calls this command: by name, or by the checkout's path."""
    root = checkout_root()
    if root is None or shutil.which("fleetlane") is not None:
        return "fleetlane"
    path = os.path.relpath(root / "fleetlane")
    return shlex.quote(path if path.startswith("..") else f"./{path}")
