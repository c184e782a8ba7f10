"""How far the platform's queries have read, and up to where the lake holds what they wrote.

A record that its lane has passed has its outcome in ``fleet.parsed``, and the lake reads that
later. So positions are noted again and again: once the lake has read all that the topics held when
some were noted, whatever the lanes had passed by then must have its outcome in the lake.
"""

import re
from collections import deque
from collections.abc import Callable, Collection, Iterable, Sequence
from dataclasses import dataclass
from typing import Final, Protocol

from fleetlane.events.job_arguments import LakeTables
from fleetlane.events.lanes import Lane
from fleetlane.events.metrics import lake_job
from fleetlane.events.topic_patterns import canonical_pattern, raw_pattern, unique_pattern
from fleetlane.events.topics import FLEET_PARSED, FLEET_RECEIVED, PARKED, mirrored_group
from glue_jobs.kafka.admin import Offsets, Partition

_NOTED_MAX: Final = 500
_RAW: Final = re.compile(raw_pattern(*Lane))
_CANONICAL: Final = re.compile(canonical_pattern())
_UNIQUE: Final = re.compile(unique_pattern())
_READ: Final = re.compile("|".join(one.pattern for one in (_RAW, _CANONICAL, _UNIQUE)))
_KEPT: Final = frozenset({FLEET_PARSED, FLEET_RECEIVED, PARKED})
_LANES: Final = mirrored_group("parse_lane_")
_DEDUPLICATES: Final = mirrored_group("deduplicate_")
_ARCHIVE: Final = mirrored_group(lake_job(LakeTables.ARCHIVE))
_LAKE: Final = frozenset(map(mirrored_group, map(lake_job, LakeTables))) - {_ARCHIVE}


class Topics(Protocol):
    """Kafka's topics and consumer groups; ``KafkaAdmin`` is one."""

    def topics(self) -> frozenset[str]: ...
    def partitions(self, topics: Iterable[str]) -> Iterable[Partition]: ...
    def groups(self) -> Sequence[str]: ...
    def committed(self, group: str) -> Offsets: ...
    def beginnings(self, partitions: Iterable[Partition]) -> Offsets: ...
    def ends(self, partitions: Iterable[Partition]) -> Offsets: ...


@dataclass(frozen=True, slots=True, kw_only=True)
class Positions:
    """Offsets at one time. All but ``begins`` and ``ends`` are those of the next record to read.

    ``passed`` is how far the lanes are in the raw topics, ``archived`` the archive; ``kept`` is how
    far the lake is in the topics that it keeps, ``deduped`` how far canonical topics are copied.
    ``begins`` are of the raw topics alone.
    """

    at_ms: int
    begins: Offsets
    passed: Offsets
    archived: Offsets
    kept: Offsets
    deduped: Offsets
    ends: Offsets


def positions_now(
    kafka: Topics, *, now_ms: Callable[[], int], deduped: Collection[str] = ()
) -> Positions:
    """Ask Kafka; raises ``KafkaAdminError``. ``deduped`` topics may not have been copied yet.

    What was passed is read before the ends of what was written of it.
    """
    at_ms = now_ms()
    topics = [one for one in kafka.topics() if one in _KEPT or _READ.fullmatch(one)]
    partitions = list(kafka.partitions(topics))
    groups = kafka.groups()
    begins = kafka.beginnings([one for one in partitions if _RAW.fullmatch(one[0])])

    def read_by(wanted: Callable[[str], bool]) -> dict[Partition, int]:
        furthest: dict[Partition, int] = {}
        for group in filter(wanted, groups):
            for partition, offset in kafka.committed(group).items():
                furthest[partition] = max(offset, furthest.get(partition, 0))
        return furthest

    return Positions(
        at_ms=at_ms,
        begins=begins,
        passed=read_by(lambda group: group.startswith(_LANES)),
        archived=read_by(_ARCHIVE.__eq__),
        kept=read_by(_LAKE.__contains__),
        deduped={one: 0 for one in partitions if one[0] in deduped}
        | read_by(lambda group: group.startswith(_DEDUPLICATES)),
        ends=kafka.ends(partitions),
    )


class NotedPositions:
    """Positions as they were noted, and the newest that others have caught up with since.

    Of those ``kept`` the lake has all outcomes, events and parked messages; of those ``archived``
    the archive has all raw records.
    """

    def __init__(self) -> None:
        self._noted: deque[Positions] = deque(maxlen=_NOTED_MAX)
        self.kept: Positions | None = None
        self.archived: Positions | None = None

    def note(self, now: Positions) -> None:
        self._noted.append(now)
        newest_first = tuple(reversed(self._noted))
        kept = (one for one in newest_first if self._is_kept(one, now))
        archived = (one for one in newest_first if _has_read(now.archived, one, _RAW.fullmatch))
        self.kept, self.archived = next(kept, self.kept), next(archived, self.archived)
        if self.kept is not None and self.archived is not None:
            needed_ms = min(self.kept.at_ms, self.archived.at_ms)
            while len(self._noted) > 1 and self._noted[0].at_ms < needed_ms:
                self._noted.popleft()

    @property
    def newest(self) -> Positions:
        return self._noted[-1]

    def _is_kept(self, one: Positions, now: Positions) -> bool:
        """Events that are deduplicated come to the lake by another topic, and later."""
        deduped = {topic for topic, _ in now.deduped}

        def is_direct(topic: str) -> bool:
            return topic in _KEPT or (topic not in deduped and bool(_CANONICAL.fullmatch(topic)))

        if not _has_read(now.kept, one, is_direct):
            return False
        return not deduped or any(
            later.at_ms >= one.at_ms
            and _has_read(later.deduped, one, deduped.__contains__)
            and _has_read(now.kept, later, _UNIQUE.fullmatch)
            for later in self._noted
        )


def _has_read(read: Offsets, noted: Positions, is_topic: Callable[[str], object]) -> bool:
    return all(read.get(one, 0) >= end for one, end in noted.ends.items() if is_topic(one[0]))
