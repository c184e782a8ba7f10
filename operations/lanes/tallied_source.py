"""A demonstration's records, counted as they are read."""

import threading
from collections.abc import Sequence
from contextlib import suppress
from typing import Final

from clients.kafka.reader import KafkaReader, KafkaUnreadableError, Record
from operations.lanes.parse_delays import ParseDelays
from operations.lanes.tally import LaneTally
from operations.ledger import Evidence

_LOOK_EVERY_S: Final = 0.5


class TalliedSource:
    """A reader whose records go by a tally, and by who measures delays."""

    def __init__(self, reader: KafkaReader, tally: LaneTally, delays: ParseDelays) -> None:
        self._reader, self._tally, self._delays = reader, tally, delays

    def read_available(self) -> Sequence[Record]:
        records = self._reader.read_available()
        self._tally.fold(records)
        self._delays.fold(records)
        return records

    def fold_into(self, evidence: Evidence, *, until: threading.Event) -> None:
        """Read and fold what comes, until ``until`` is set."""
        while not until.wait(_LOOK_EVERY_S):
            with suppress(KafkaUnreadableError):  # what is not read now is read later
                evidence.fold(self.read_available())
