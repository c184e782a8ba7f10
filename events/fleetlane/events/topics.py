"""Kafka's names: topics and their limits, the keys of records, and consumer groups."""

import re
from collections.abc import Callable
from dataclasses import dataclass
from enum import StrEnum
from functools import lru_cache
from typing import Final

from fleetlane.events.lanes import BulkCause, Lane
from fleetlane.events.names import checked_name
from fleetlane.events.times import DAY_MS, HOUR_MS, hour_bucket

PARKED: Final = "parked"
FLEET_RECEIVED: Final = "fleet.received"
FLEET_PARSED: Final = "fleet.parsed"
FLEET_ALERTS: Final = "fleet.alerts"
FLEET_HEARTBEATS: Final = "fleet.heartbeats"
"""What workers report to the driver of a query in real time, and to nobody else."""

METADATA_TOPICS: Final = (FLEET_RECEIVED, FLEET_PARSED, FLEET_ALERTS)
"""Their records have one content type, and those of canonical events another."""

FAST_PARTITIONS_MAX: Final = 4
"""In real time each partition holds a task slot for as long as its lane runs."""

MIRRORED_GROUPS: Final = "fleetlane-"
"""The beginning of the consumer groups in which Kafka's own tools see the queries' progress."""

RECORD_BYTES_MAX: Final = 1_000_000
"""The largest record (key, value and headers) that we write to any topic but the two below."""

REROUTED_BYTES_MAX: Final = RECORD_BYTES_MAX + 64 * 1024
"""``raw.slow``, ``raw.bulk`` and ``parked`` take any raw record again, with more headers."""

PARKED_INLINE_BYTES_MAX: Final = 64 * 1024
"""``parked`` has larger bodies by reference: what brokers keep for ever is to be small."""

_REROUTED_TO: Final = (f"raw.{Lane.BULK}", f"raw.{Lane.SLOW}")

_FRAME_BYTES: Final = 16 * 1024
BULK_CAUSES: Final = "|".join(BulkCause)


class RawStrategy(StrEnum):
    """Which raw topic a flow's messages land in: the lane's, one of its own, or its devices'."""

    LANE = "lane"
    STREAM = "stream"
    DEVICE_TYPE = "device_type"


@dataclass(frozen=True, slots=True, kw_only=True)
class RawTopic:
    """The parts of a raw topic's name. At most one of the four behind the lane is set.

    ``blocking_stream`` is one whose flow blocks on failure: its lane's shared query leaves this
    topic out, and a query of its own reads it. A bulk topic has its ``cause``, unless its flow
    blocks. What exceeded its flow's budget is ``is_over``.
    """

    lane: Lane
    stream: str | None = None
    device_type: str | None = None
    blocking_stream: str | None = None
    cause: BulkCause | None = None
    is_over: bool = False

    def __str__(self) -> str:
        own = {"stream": self.stream, "type": self.device_type, "block": self.blocking_stream}
        for kind, name in own.items():
            if name is not None:
                return f"raw.{self.lane}.{kind}.{name}"
        over, cause = ".over" if self.is_over else "", f".{self.cause}" if self.cause else ""
        return f"raw.{self.lane}{over}{cause}"


@dataclass(frozen=True, slots=True, kw_only=True)
class TopicSettings:
    """What a topic is created with. A ``retention_ms`` of -1 keeps records for ever."""

    retention_ms: int
    record_bytes_max: int

    def kafka_configuration(self) -> dict[str, str]:
        """Kafka's own names; the frame of a record batch comes on top of its record."""
        return {
            "retention.ms": str(self.retention_ms),
            "max.message.bytes": str(self.record_bytes_max + _FRAME_BYTES),
        }


@lru_cache(maxsize=1024)
def raw_topic(
    lane: Lane,
    strategy: RawStrategy = RawStrategy.LANE,
    *,
    stream: str,
    device_type: str | None = None,
    cause: BulkCause | None = None,
) -> str:
    """Name the topic that a message lands in. Without a device type, its lane's shared topic.

    In the bulk lane it is the ``cause``'s, whatever the strategy.

    Raises ``BadNameError`` where the stream or device type that is to be part of it is none.
    """
    if cause is not None or strategy is RawStrategy.LANE:
        return str(RawTopic(lane=lane, cause=cause))
    if strategy is RawStrategy.STREAM:
        return str(RawTopic(lane=lane, stream=checked_name(stream, kind="stream")))
    kind = device_type and checked_name(device_type, kind="device type")
    return str(RawTopic(lane=lane, device_type=kind or None))


def canonical_topic(stream: str) -> str:
    return f"canonical.{checked_name(stream, kind='stream')}"


def unique_topic(stream: str) -> str:
    return f"unique.{checked_name(stream, kind='stream')}"


def platform_topics() -> tuple[str, ...]:
    """The topics that exist whatever flows there are."""
    shared = [RawTopic(lane=lane) for lane in Lane if lane is not Lane.BULK]
    bulk = [RawTopic(lane=Lane.BULK, cause=cause) for cause in BulkCause]
    over = [RawTopic(lane=Lane.BULK, cause=cause, is_over=True) for cause in BulkCause]
    raw = map(str, (*shared, *bulk, *over, RawTopic(lane=Lane.SLOW, is_over=True)))
    return (*raw, PARKED, *METADATA_TOPICS, FLEET_HEARTBEATS)


def topic_settings(topic: str) -> TopicSettings:
    if topic == PARKED:
        return TopicSettings(retention_ms=-1, record_bytes_max=REROUTED_BYTES_MAX)
    if topic.startswith(_REROUTED_TO):
        return TopicSettings(retention_ms=3 * DAY_MS, record_bytes_max=REROUTED_BYTES_MAX)
    if topic == FLEET_HEARTBEATS:
        return TopicSettings(retention_ms=HOUR_MS, record_bytes_max=RECORD_BYTES_MAX)
    days = 3 if topic.startswith("raw.") else 7
    return TopicSettings(retention_ms=days * DAY_MS, record_bytes_max=RECORD_BYTES_MAX)


class CanonicalKey(StrEnum):
    """How a flow's canonical events are keyed."""

    DEVICE_HOUR = "device_hour"
    DEVICE = "device"
    EVENT_MILLIS = "event_millis"


def raw_key(arrival_millis: int) -> bytes:
    """Key of a raw record: an even spread, whatever a device does."""
    return b"%d" % arrival_millis


def canonical_keys(kind: CanonicalKey, *, device_id: str) -> Callable[[int], bytes]:
    """What gives a device's canonical events their keys.

    It takes the milliseconds of an event's time, or of its arrival where the event time is not to
    be trusted. ``device_hour`` gives ``d-17/2026-11-03T14``.
    """
    match kind:
        case CanonicalKey.DEVICE_HOUR:
            hour, key = None, b""  # of the event before: most are of one hour

            def device_hour(bucket_millis: int) -> bytes:
                nonlocal hour, key
                if bucket_millis // HOUR_MS != hour:
                    hour = bucket_millis // HOUR_MS
                    key = f"{device_id}/{hour_bucket(bucket_millis)}".encode()
                return key

            return device_hour
        case CanonicalKey.DEVICE:
            key = device_id.encode()
            return lambda _: key
        case CanonicalKey.EVENT_MILLIS:
            return lambda bucket_millis: b"%d" % bucket_millis


def partitions_of(topic: str, partitions: int) -> int:
    """How many a topic is made with where others have ``partitions``."""
    is_fast = topic.startswith(f"raw.{Lane.FAST}")
    return min(partitions, FAST_PARTITIONS_MAX) if is_fast else partitions


def mirrored_group(query: str) -> str:
    """Name the group of a query: ``fleetlane-parse-fast`` of ``parse_lane_fast``.

    Spark keeps a query's offsets in its checkpoint: they are copied to the group, of no members.
    """
    return MIRRORED_GROUPS + query.replace("parse_lane", "parse", 1).replace("_", "-")


_NOTE: Final = re.compile("([0-9]{1,15});(?:stalled ([0-9]{1,15});)?")


def seen_note(seen_ms: int, *, stalled_ms: int = 0, is_provisional: bool = False) -> str:
    """The note beside a group's offsets: when its query was last seen alive.

    ``stalled_ms``: how long it has had work, and made no progress; 0 where it is as it should be.
    Offsets that are provisional are not in the query's checkpoint yet.
    """
    stalled = f"stalled {stalled_ms};" if stalled_ms else ""
    return f"{seen_ms};{stalled}" + ("provisional;" if is_provisional else "")


def seen_and_stalled_ms(note: str) -> tuple[int, int] | None:
    """Read both from the note; librdkafka may return more bytes after it than were written."""
    found = _NOTE.match(note)
    return None if found is None else (int(found[1]), int(found[2] or 0))
