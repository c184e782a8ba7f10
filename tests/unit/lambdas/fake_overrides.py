"""A fake of the overrides in S3; passes the contract tests of its real twin."""

from collections.abc import Callable

from clients.devices.overrides import OverridesUnavailableError
from fleetlane.events.overrides import Overrides, overrides_from_json


class FakeOverrides:
    """Overrides in memory. ``is_up`` says whether S3 answers."""

    def __init__(self, overrides: Overrides | None = None) -> None:
        self._written = (overrides or Overrides()).to_json()
        self.is_up = True

    def read(self) -> Overrides:
        if not self.is_up:
            raise OverridesUnavailableError("S3 is down")
        return overrides_from_json(self._written)

    def change(self, changed: Callable[[Overrides], Overrides], *, now_ms: int) -> Overrides:
        wanted = changed(self.read()).next_version(now_ms=now_ms)
        self._written = wanted.to_json()
        return wanted
