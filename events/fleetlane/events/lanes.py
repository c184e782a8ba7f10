"""Lanes: how urgent a message is, and what each lane allows it."""

import tomllib
from collections.abc import Mapping
from dataclasses import dataclass, replace
from enum import StrEnum
from importlib.resources import files
from typing import Final

import msgspec

from fleetlane.events.times import DAY_MS

REQUEST_BODY_BYTES_MAX: Final = 4_500_000
"""The largest body that the HTTP API accepts in one request: about what Lambda takes, 6 MB of
Base64. A larger one is uploaded to S3."""

INLINE_BYTES_MAX: Final = 256 * 1024
"""A body up to this size travels inside its Kafka record; above, by reference."""

PAYLOAD_BYTES_MAX: Final = 64 << 20
"""The largest body that a parser is given as ``bytes``."""

BUFFER_BYTES_MAX: Final = 256 << 20
"""The largest body by reference, for parsers that accept a buffer."""

LATE_AFTER_MS: Final = DAY_MS
"""Data whose declared end is older than this at arrival is a backlog, not new."""

PARSE_GRACE_FACTOR: Final = 1.2
"""A parse time limit is exceeded only beyond this multiple of it."""


class Lane(StrEnum):
    """One of four paths through the platform, each with its own topics, job and alarms.

    Bulk is for what is only large, late, quarantined or replayed; slow for what overran or failed.
    """

    FAST = "fast"
    STANDARD = "standard"
    BULK = "bulk"
    SLOW = "slow"


class LaneTrigger(StrEnum):
    """How a lane's query reads: batch after batch, or each message as it comes."""

    MICRO_BATCHES = "micro-batches"
    REAL_TIME = "real-time"


REAL_TIME_LANES: Final = (Lane.FAST,)
"""Where messages may be read in real time: each partition holds a task slot all the time."""

DECLARED_LANES: Final = (Lane.FAST, Lane.STANDARD, Lane.SLOW)
"""What a flow may declare; the bulk lane is for what a message is."""


class BulkCause(StrEnum):
    """Why a message is in the bulk lane. Each cause has a topic and a query of its own."""

    LARGE = "large"
    LATE = "late"
    QUARANTINED = "quarantined"
    REPLAYED = "replayed"


_EVENTS_OF_ANY_BODY: Final = 1_000


@dataclass(frozen=True, slots=True, kw_only=True)
class GrowthLimits:
    """What one message may become: see docs/sandbox.md ("Growth"). By default the last limits."""

    inflated_bytes_max: int = PAYLOAD_BYTES_MAX
    inflated_ratio_max: int = 10_000
    output_bytes_max: int = PAYLOAD_BYTES_MAX
    events_max: int = 100_000
    are_last: bool = True

    def inflated_bytes_of(self, received_bytes: int) -> int:
        """The most that a compressed body of this size may inflate to."""
        by_ratio = max(INLINE_BYTES_MAX, self.inflated_ratio_max * received_bytes)
        return min(self.inflated_bytes_max, by_ratio)

    def events_of(self, received_bytes: int) -> int:
        """The most events that a body of this size may become: an event a bit, or 1,000."""
        return min(self.events_max, max(_EVENTS_OF_ANY_BODY, 8 * received_bytes))

    def for_buffers(self) -> "GrowthLimits":
        """The same for a parser that accepts a buffer."""
        return replace(self, inflated_bytes_max=BUFFER_BYTES_MAX) if self.are_last else self


@dataclass(frozen=True, slots=True, kw_only=True)
class LaneLimits:
    """What a lane allows one message and one batch, and when it alarms: ``lanes.toml``.

    A message may take ``uncharged_share`` of its limit, and children still finish a batch long
    before the lane is late. What it takes more is charged to its flow's time budget; what exceeds
    that goes once to another topic, whose batches have ``over_messages_per_batch_max``. A task
    parses up to ``children_max`` messages of a slow parser at once. A query without progress for
    ``stalled_after_s`` begins anew.
    """

    parse_ms_max: int
    memory_bytes_max: int
    trigger_ms: int
    messages_per_batch_max: int
    over_messages_per_batch_max: int = 0
    uncharged_share: float = 0.1
    niceness: int = 0
    children_max: int = 1
    lag_alarm_s: int
    growth: GrowthLimits = GrowthLimits()
    stalled_after_s: int = 60


_WRITTEN: Final = files(__package__).joinpath("lanes.toml").read_text(encoding="utf-8")
LANE_LIMITS: Final[Mapping[Lane, LaneLimits]] = msgspec.convert(
    tomllib.loads(_WRITTEN), dict[Lane, LaneLimits]
)

SLOW_TRIES_MAX: Final = 3
"""How often the slow lane tries a message before it is parked, a trigger's time or more apart."""

BULK_MESSAGES_PER_BATCH_MAX: Final[Mapping[BulkCause, int]] = {
    BulkCause.LARGE: 400,
    BulkCause.LATE: 20_000,
    BulkCause.QUARANTINED: 1_000,
    BulkCause.REPLAYED: 2_000,
}
"""For one worker. Large messages are few, for one may be 64 MiB. What a runaway device or a replay
brings without end leaves half of a worker to the others."""


def messages_per_batch(lane: Lane, workers: int, cause: BulkCause | None, *, is_over: bool) -> int:
    """The most that a batch has; in the bulk and slow lanes it grows with the workers."""
    limits = LANE_LIMITS[lane]
    if is_over:
        return workers * limits.over_messages_per_batch_max
    of_one = BULK_MESSAGES_PER_BATCH_MAX[cause] if cause else limits.messages_per_batch_max
    return workers * of_one if lane in (Lane.BULK, Lane.SLOW) else of_one


class LaneFacts(msgspec.Struct, frozen=True, kw_only=True):
    """All that decides a message's lane.

    ``asked`` is the endpoint's lane, ``declared`` the flow's (standard where there is no flow),
    ``data_age_ms`` arrival minus the declared end of the data, if one was declared.
    """

    asked: Lane = Lane.STANDARD
    declared: Lane = Lane.STANDARD
    body_bytes: int = 0
    data_age_ms: int | None = None
    is_quarantined: bool = False
    is_replayed: bool = False


def lane_for(facts: LaneFacts) -> Lane:
    """Decide the lane in which a message lands, once or again. The first rule that holds wins.

    The slow lane also takes, later and whatever its facts, what overran or failed in another lane.
    The fast lane needs both: the device asked for it, and its flow declares it.
    """
    if facts.declared is Lane.SLOW:
        return Lane.SLOW
    if bulk_cause(facts) is not None:
        return Lane.BULK
    if facts.asked is Lane.FAST and facts.declared is Lane.FAST:
        return Lane.FAST
    return Lane.STANDARD


def bulk_cause(facts: LaneFacts) -> BulkCause | None:
    """Why a message is in the bulk lane, if it is; the first cause that holds."""
    if facts.declared is Lane.SLOW:
        return None
    if facts.is_replayed:
        return BulkCause.REPLAYED
    if facts.is_quarantined:
        return BulkCause.QUARANTINED
    if facts.body_bytes > INLINE_BYTES_MAX:
        return BulkCause.LARGE
    if facts.data_age_ms is not None and facts.data_age_ms > LATE_AFTER_MS:
        return BulkCause.LATE
    return None
