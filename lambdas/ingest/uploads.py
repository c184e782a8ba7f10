"""From what a device sent to the message that is landed: its id, its lane, what is cut off."""

import hashlib

import msgspec

from fleetlane.events.envelope import Message
from fleetlane.events.flows.flow import Flow
from fleetlane.events.ids import RawIdRule
from fleetlane.events.lanes import INLINE_BYTES_MAX, Lane, LaneFacts, lane_for


class Upload(msgspec.Struct, frozen=True, kw_only=True, dict=True):
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
    content_type: str
    idempotency_key: str | None = None
    firmware: str | None = None
    start_millis: int | None = None
    end_millis: int | None = None
    body_encoding: str | None = None
    via: str | None = None

    def body_sha256(self) -> bytes:
        """The digest of the body; once it was asked for, it is known."""
        known: bytes | None = self.__dict__.get("sha256")
        if known is None:
            known = self.__dict__["sha256"] = hashlib.sha256(self.body).digest()
        return known


def message_of(upload: Upload, flow: Flow | None) -> Message:
    """Make the message of an upload, its body inside, whatever its size."""
    body = upload.body
    if flow is not None and flow.oversize == "truncate":
        body = body[:INLINE_BYTES_MAX]
    return Message(
        raw_id=_raw_id(upload, flow),
        device_id=upload.device_id,
        stream=upload.stream,
        arrival_millis=upload.arrival_millis,
        lane=lane_for(_lane_facts(upload, flow, len(body))),
        body=body,
        body_bytes=len(body),
        content_type=upload.content_type,
        device_type=upload.device_type,
        firmware=upload.firmware,
        start_millis=upload.start_millis,
        end_millis=upload.end_millis,
        body_encoding=upload.body_encoding,
        truncated_from_bytes=len(upload.body) if len(body) < len(upload.body) else None,
        via=upload.via,
    )


def _raw_id(upload: Upload, flow: Flow | None) -> str:
    rule = RawIdRule(
        device_id=upload.device_id,
        stream=upload.stream,
        idempotency_key=upload.idempotency_key,
        dedupes_by_content=flow is not None and flow.dedupe_by_content,
    )
    return rule.raw_id(upload.body_sha256)


def _lane_facts(upload: Upload, flow: Flow | None, body_bytes: int) -> LaneFacts:
    end_millis = upload.end_millis
    return LaneFacts(
        asked=upload.asked,
        declared=Lane.STANDARD if flow is None else flow.lane,
        body_bytes=body_bytes,
        data_age_ms=None if end_millis is None else upload.arrival_millis - end_millis,
        is_quarantined=upload.is_quarantined,
    )
