"""From what a device sent to the message that is landed: its id, its lane, what is cut off."""

import hashlib

from fleetlane.events.envelope import Message
from fleetlane.events.flows.flow import Flow
from fleetlane.events.lanes import INLINE_BYTES_MAX, Lane, LaneFacts, lane_for
from fleetlane.events.names import RawIdRule
from lambdas.http.declarations import Declared


class InboundMessage(Declared, frozen=True, kw_only=True, dict=True):
    """What a device sent. ``asked`` is the lane of the endpoint that it used.

    ``via`` is the gateway that brought it, if any.
    """

    device_id: str
    device_type: str
    is_quarantined: bool
    stream: str
    asked: Lane
    arrival_millis: int
    body: bytes
    via: str | None = None

    def body_sha256(self) -> bytes:
        """The digest of the body; once it was asked for, it is known."""
        known: bytes | None = self.__dict__.get("sha256")
        if known is None:
            known = self.__dict__["sha256"] = hashlib.sha256(self.body).digest()
        return known


def message_of(inbound: InboundMessage, flow: Flow | None) -> Message:
    """Make the message of an inbound, its body inside, whatever its size."""
    body = inbound.body
    if flow is not None and flow.oversize == "truncate":
        body = body[:INLINE_BYTES_MAX]
    return Message(
        raw_id=_raw_id(inbound, flow),
        device_id=inbound.device_id,
        stream=inbound.stream,
        arrival_millis=inbound.arrival_millis,
        lane=lane_for(_lane_facts(inbound, flow, len(body))),
        body=body,
        body_bytes=len(body),
        content_type=inbound.content_type,
        device_type=inbound.device_type,
        firmware=inbound.firmware,
        start_millis=inbound.start_millis,
        end_millis=inbound.end_millis,
        body_encoding=inbound.body_encoding,
        truncated_from_bytes=len(inbound.body) if len(body) < len(inbound.body) else None,
        via=inbound.via,
    )


def _raw_id(inbound: InboundMessage, flow: Flow | None) -> str:
    rule = RawIdRule(
        device_id=inbound.device_id,
        stream=inbound.stream,
        idempotency_key=inbound.idempotency_key,
        dedupes_by_content=flow is not None and flow.dedupe_by_content,
    )
    return rule.raw_id(inbound.body_sha256)


def _lane_facts(inbound: InboundMessage, flow: Flow | None, body_bytes: int) -> LaneFacts:
    end_millis = inbound.end_millis
    return LaneFacts(
        asked=inbound.asked,
        declared=Lane.STANDARD if flow is None else flow.lane,
        body_bytes=body_bytes,
        data_age_ms=None if end_millis is None else inbound.arrival_millis - end_millis,
        is_quarantined=inbound.is_quarantined,
    )
