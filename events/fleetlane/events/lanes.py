"""Lanes: how urgent a message is, and what each lane allows it."""

from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum
from types import MappingProxyType
from typing import Final

import msgspec

from fleetlane.events.times import DAY_MS

REQUEST_BODY_BYTES_MAX: Final = 4_500_000
"""The largest body that the HTTP API accepts in one request; a larger one is uploaded to S3.

About what Lambda takes: 6 MB of Base64.
"""

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
    """One of three paths through the platform, each with its own topics, job and alarms."""

    FAST = "fast"
    STANDARD = "standard"
    SLOW = "slow"


@dataclass(frozen=True, slots=True, kw_only=True)
class LaneLimits:
    """What a lane allows one message and one batch, and when it alarms.

    A batch has so many messages that children finish it long before the lane is late, though each
    message took a tenth of its limit. What takes more is charged to its flow's time budget.
    """

    parse_ms_max: int
    memory_bytes_max: int
    trigger_ms: int
    messages_per_batch_max: int
    lag_alarm_s: int


LANE_LIMITS: Final[Mapping[Lane, LaneLimits]] = MappingProxyType(
    {
        Lane.FAST: LaneLimits(
            parse_ms_max=100,
            memory_bytes_max=256 << 20,
            trigger_ms=0,
            messages_per_batch_max=20_000,
            lag_alarm_s=30,
        ),
        Lane.STANDARD: LaneLimits(
            parse_ms_max=250,
            memory_bytes_max=512 << 20,
            trigger_ms=1_000,
            messages_per_batch_max=100_000,
            lag_alarm_s=300,
        ),
        Lane.SLOW: LaneLimits(
            parse_ms_max=60_000,
            memory_bytes_max=2 << 30,
            trigger_ms=10_000,
            messages_per_batch_max=200,
            lag_alarm_s=3_600,
        ),
    }
)

SLOW_TRIES_MAX: Final = 3
"""How often the slow lane tries a message before it is parked, a trigger's time or more apart."""


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
    attempt: int = 1


def lane_for(facts: LaneFacts) -> Lane:
    """Decide the lane of a message. The first rule that holds wins.

    Whatever is large, late, retried, quarantined or declared slow goes to the slow lane. The fast
    lane needs both: the device asked for it, and its flow declares it. The rest is standard.
    """
    if facts.is_quarantined or facts.attempt > 1 or facts.declared is Lane.SLOW:
        return Lane.SLOW
    if facts.body_bytes > INLINE_BYTES_MAX:
        return Lane.SLOW
    if facts.data_age_ms is not None and facts.data_age_ms > LATE_AFTER_MS:
        return Lane.SLOW
    if facts.asked is Lane.FAST and facts.declared is Lane.FAST:
        return Lane.FAST
    return Lane.STANDARD
