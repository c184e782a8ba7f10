"""The checkout that this command lies in: most commands need what is never installed."""

import sys
from pathlib import Path
from typing import ClassVar, Final

from fleetlane.events.errors import FleetlaneError

_ROOT: Final = Path(__file__).resolve().parents[3]


class CheckoutMissingError(FleetlaneError):
    """The command was installed by itself, without the platform."""

    reason: ClassVar[str] = "checkout_missing"

    def __str__(self) -> str:
        return "this command needs a checkout of Fleetlane: clone it and run ./fleetlane there"


def use_checkout(root: Path = _ROOT) -> None:
    """Let ``local`` and ``clients`` be imported from here on.

    Raises:
        CheckoutMissingError: They are not beside this command.
    """
    if not (root / "local" / "checkout.py").is_file():
        raise CheckoutMissingError
    if str(root) not in sys.path:
        sys.path.insert(0, str(root))
