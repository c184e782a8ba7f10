"""Which hours of which devices have events, and when they last changed: by ``fleet.parsed``."""

from collections.abc import Iterable, Mapping
from typing import NamedTuple, Self
from zlib import crc32

from fleetlane.events.metadata import Outcome, Parsed
from fleetlane.events.times import HOUR_MS


class Bucket(NamedTuple):
    """The events of a stream that arrived within an hour of UTC, from a share of its devices.

    ``hour`` counts from 1970. By arrival, so that a late event is in a late bucket and reopens
    none, and a device's clock touches nothing; only a replay changes an hour that is over.
    """

    stream: str
    hour: int
    part: int

    @classmethod
    def of(cls, stream: str, device_id: str, arrival_ms: int, *, parts: int) -> Self:
        return cls(stream, arrival_ms // HOUR_MS, crc32(device_id.encode()) % parts)

    def __str__(self) -> str:
        return f"{self.stream}/{self.hour}/{self.part}"


class ChangedBuckets:
    """Folds rows of ``fleet.parsed``, in any order and as often as they come."""

    def __init__(self, *, parts: int) -> None:
        self._parts = parts
        self._changed_ms: dict[Bucket, int] = {}

    def fold(self, rows: Iterable[Parsed]) -> None:
        for row in rows:
            if row.outcome is Outcome.PARSED:
                arrival_ms = row.parsed_ms if row.received_ms is None else row.received_ms
                bucket = Bucket.of(row.stream, row.device_id, arrival_ms, parts=self._parts)
                self._changed_ms[bucket] = max(self._changed_ms.get(bucket, 0), row.parsed_ms)

    def quiet(self, now_ms: int, *, quiet_ms: int) -> Mapping[Bucket, int]:
        """Hours that are over and did not change for so long; when they did last. Oldest first.

        ``quiet_ms`` is to be longer than workers' clocks differ and their batches take, some
        minutes: a change that shows up later than that, in an hour that was done, may be missed.
        """
        until_ms = now_ms - quiet_ms
        quiet = (
            (one, at_ms)
            for one, at_ms in self._changed_ms.items()
            if max(at_ms, (one.hour + 1) * HOUR_MS) <= until_ms
        )
        return dict(sorted(quiet, key=lambda one: one[0].hour))

    def forget(self, bucket: Bucket, changed_ms: int) -> None:
        """It was done as it was then; a later change brings it back."""
        if self._changed_ms.get(bucket) == changed_ms:
            del self._changed_ms[bucket]
