"""A record on its way to Kafka."""

from dataclasses import dataclass, field

from fleetlane.events.envelope import Header


@dataclass(frozen=True, slots=True, kw_only=True)
class ProducerRecord:
    """What is to be written to a topic. A ``value`` of ``None`` is Kafka's null."""

    topic: str
    key: bytes
    value: bytes | None
    headers: list[Header] = field(default_factory=list)
