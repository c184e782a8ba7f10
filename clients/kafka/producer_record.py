"""A record on its way to Kafka."""

import msgspec

from fleetlane.events.envelope import Header


class ProducerRecord(msgspec.Struct, frozen=True, kw_only=True):
    """What is to be written to a topic. A ``value`` of ``None`` is Kafka's null."""

    topic: str
    key: bytes
    value: bytes | None
    headers: list[Header] = msgspec.field(default_factory=list)
