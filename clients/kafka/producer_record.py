"""Records on their way to Kafka, and the record of a message."""

import msgspec

from fleetlane.events.envelope import Header, Message, headers_of
from fleetlane.events.flows.flow import Flow
from fleetlane.events.lanes import Lane
from fleetlane.events.topics import raw_key, raw_topic


class ProducerRecord(msgspec.Struct, frozen=True, kw_only=True):
    """What is to be written to a topic. A ``value`` of ``None`` is Kafka's null."""

    topic: str
    key: bytes
    value: bytes | None
    headers: list[Header] = msgspec.field(default_factory=list)


def raw_record(message: Message, flow: Flow | None) -> ProducerRecord:
    """Write a message down. Without a flow it lands in its lane's shared topic."""
    lane, cause = message.lane, message.bulk_cause if message.lane is Lane.BULK else None
    return ProducerRecord(
        topic=raw_topic(lane, stream=message.stream, cause=cause)
        if flow is None
        else flow.raw_topic(lane, device_type=message.device_type, cause=cause),
        key=raw_key(message.arrival_millis),
        value=message.body,
        headers=headers_of(message),
    )
