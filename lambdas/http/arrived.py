"""A message as it arrived, and as it is in Kafka: in the lane that it belongs to."""

from fleetlane.events.envelope import Declared, Message, Sent
from fleetlane.events.flows.flow import Flow
from fleetlane.events.lanes import INLINE_BYTES_MAX, Lane, LaneFacts, bulk_cause, lane_for


class Arrived(Sent, frozen=True, kw_only=True):
    """What is known of a message. ``asked`` is the lane of the endpoint that took it."""

    arrival_millis: int
    asked: Lane = Lane.STANDARD


def message_of(
    arrived: Arrived, flow: Flow | None, raw_id: str, *, body: bytes | None, body_bytes: int
) -> Message:
    """Make the message, its body inside, whatever its size, unless that is elsewhere."""
    end_millis = arrived.end_millis
    facts = LaneFacts(
        asked=arrived.asked,
        declared=Lane.STANDARD if flow is None else flow.lane,
        # What is elsewhere is fetched, and only the bulk and the slow lane wait for S3.
        body_bytes=INLINE_BYTES_MAX + 1 if body is None else body_bytes,
        data_age_ms=None if end_millis is None else arrived.arrival_millis - end_millis,
        is_quarantined=arrived.is_quarantined,
    )
    return Message(
        raw_id=raw_id,
        device_id=arrived.device_id,
        stream=arrived.stream,
        arrival_millis=arrived.arrival_millis,
        lane=lane_for(facts),
        bulk_cause=bulk_cause(facts),
        body=body,
        body_bytes=body_bytes,
        device_type=arrived.device_type,
        attributes=arrived.attributes,
        via=arrived.via,
        **{name: getattr(arrived, name) for name in Declared.__struct_fields__},
    )
