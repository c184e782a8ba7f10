"""The checkout that this command lies in, and the uv that set it up."""

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
