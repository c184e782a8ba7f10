"""The checkout that this command lies in: most commands need what is never installed."""

import sys
from pathlib import Path
from typing import Final

from fleetlane.events.errors import FleetlaneError

_ROOT: Final = Path(__file__).resolve().parents[4]


class CheckoutMissingError(FleetlaneError):
    """The command was installed by itself, without the platform."""

    reason = "checkout_missing"
    sentence = "this command needs a checkout of Fleetlane: clone it and run ./fleetlane there"


def use_checkout(root: Path = _ROOT) -> None:
    """Let ``local`` and ``clients`` be imported from here on.

    Raises:
        CheckoutMissingError: They are not beside this command.
    """
    if checkout_root(root) is None:
        raise CheckoutMissingError
    if str(root) not in sys.path:
        sys.path.insert(0, str(root))


def checkout_root(root: Path = _ROOT) -> Path | None:
    """The checkout's folder; ``None`` where this command was installed by itself."""
    return root if (root / "local" / "checkout.py").is_file() else None


def uv_program(root: Path = _ROOT) -> Path | None:
    """The uv that set this checkout up; ``None`` stands for the one on ``PATH``."""
    ours = root / "build" / "uv" / "bin" / "uv"
    return ours if ours.is_file() else None
