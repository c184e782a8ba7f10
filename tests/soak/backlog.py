"""What waits in each lane, second by second, as the ledger's own reading shows it."""

import threading
import time
from bisect import bisect_left, insort
from collections import Counter
from collections.abc import Iterable, Mapping
from contextlib import suppress
from dataclasses import dataclass
from typing import Final

import msgspec
from botocore.exceptions import BotoCoreError, ClientError

from clients.kafka.reader import KafkaReader, KafkaUnreadableError
from fleetlane.events import headers as ce
from fleetlane.events.envelope import Record
from fleetlane.events.metadata import Outcome, parsed_from
from fleetlane.events.topic_patterns import lane_of
from fleetlane.events.topics import FLEET_PARSED
from local.platform import SPOOL_BUCKET, Platform
from operations.ledger.evidence import LEDGER_TOPICS, Evidence
from tests.e2e.stored import object_keys

SPOOL: Final = "spool"
_POLL_INTERVAL_S: Final = 1.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Waiting:
    """How many messages had no outcome at that time, by lane; of the spool, how many objects."""

    at_s: float
    by_place: Mapping[str, int]


class Outcomes:
    """The messages that landed and have no final outcome yet, by lane; records in any order."""

    def __init__(self) -> None:
        self._lane_of: dict[str, str] = {}
        self._ended_first: set[str] = set()
        """Their row was read before their raw record."""
        self.landed = 0
        self.rows_s: list[float] = []
        """When each final outcome was written, in order."""

    @property
    def ended(self) -> int:
        return len(self.rows_s)

    def fold(self, records: Iterable[Record]) -> None:
        for record in records:
            if record.topic == FLEET_PARSED:
                self._fold_attempt(record)
            elif record.topic.startswith("raw."):
                self._fold_raw(record)

    def waiting(self) -> Counter[str]:
        return Counter(self._lane_of.values())

    def first_row_s(self, since_s: float) -> float | None:
        """When the first outcome since then was written."""
        place = bisect_left(self.rows_s, since_s)
        return self.rows_s[place] if place < len(self.rows_s) else None

    def _fold_raw(self, record: Record) -> None:
        raw_id = next((value for name, value in record.headers if name == "ce_id"), None)
        lane = lane_of(record.topic)
        if lane is not None:
            self._land((raw_id or b"").decode(), str(lane), is_new=_FIRST in record.headers)

    def _land(self, raw_id: str, lane: str, *, is_new: bool) -> None:
        self.landed += is_new
        if raw_id in self._ended_first:
            if is_new:  # its diversion may still be read
                self._ended_first.discard(raw_id)
        elif is_new or raw_id in self._lane_of:
            self._lane_of[raw_id] = lane

    def _fold_attempt(self, record: Record) -> None:
        with suppress(msgspec.DecodeError):
            row = parsed_from(record.value or b"")
            if row.outcome is Outcome.DIVERTED:
                return
            insort(self.rows_s, record.timestamp_ms / 1_000)
            if self._lane_of.pop(row.id, None) is None:
                self._ended_first.add(row.id)


_FIRST: Final = (ce.ATTEMPT, b"1")


class Observer:
    """Reads what the ledger reads while in its block, in a thread; keeps a history of what waits.

    ``evidence`` is complete once the block is over, if ``topics`` are all that the ledger reads.
    """

    def __init__(
        self, platform: Platform, evidence: Evidence, *, topics: str = LEDGER_TOPICS
    ) -> None:
        self._platform, self.evidence = platform, evidence
        self.outcomes = Outcomes()
        self.history: list[Waiting] = []
        self._reader = KafkaReader(platform.endpoints.kafka, pattern=topics)
        self._over = threading.Event()
        self._problem: Exception | None = None
        self._thread = threading.Thread(target=self._observe, daemon=True)

    def read_available(self) -> list[Record]:
        """For ``wait_until_settled``, once the observer has stopped."""
        records = self._reader.read_available()
        self.outcomes.fold(records)
        return records

    def start(self) -> None:
        self._thread.start()

    def check(self) -> None:
        """Raise what ended the observation, if anything did: all waiting would be in vain."""
        if self._problem is not None:
            raise self._problem

    def stop(self) -> None:
        """Read no more by itself."""
        self._over.set()
        self._thread.join()

    def close(self) -> None:
        self._reader.close()

    def _observe(self) -> None:
        while not self._over.wait(_POLL_INTERVAL_S):
            began_s = time.time()
            try:
                self.evidence.fold(self.read_available())
                spooled = len(object_keys(self._platform.s3, SPOOL_BUCKET))
            except (KafkaUnreadableError, BotoCoreError, ClientError):
                continue  # nobody knows what waits
            except Exception as problem:  # noqa: BLE001 - the thread's edge
                self._problem = problem
                return
            by_place = {**self.outcomes.waiting(), SPOOL: spooled}
            self.history.append(Waiting(at_s=began_s, by_place=by_place))
