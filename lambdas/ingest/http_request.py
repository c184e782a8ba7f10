"""Reading API Gateway's event: the message, or the batch of messages, that a device sent."""

from collections.abc import Mapping
from typing import Any, Final

import msgspec

from fleetlane.events.lanes import Lane
from lambdas.http.device_request import (
    BadRequestError,
    body_of,
    checked_stream,
    declared_in,
    headers_in,
    refusal,
    sender_of,
)
from lambdas.ingest.batch import Batch
from lambdas.ingest.service import InboundMessage

_CLOUDEVENTS_BATCH: Final = "application/cloudevents-batch+json"
_OF_ONE_MESSAGE: Final = {
    "idempotency-key": "id",
    "x-firmware-version": "firmware",
    "x-data-start-millis": "startmillis",
    "x-data-end-millis": "endmillis",
    "x-body-encoding": "bodyencoding",
}


def inbound_from(
    event: Mapping[str, Any], *, stream: str, asked: Lane, arrival_millis: int
) -> InboundMessage:
    """Read a proxy event (API Gateway REST, v1).

    Raises:
        UnauthenticatedError: The authorizer gave no identity.
        RevokedError: It gave that of a revoked device.
        NoRouteError: The stream's name is not allowed.
        BadRequestError: A header's value is not allowed, or the body is no Base64.
    """
    sender = sender_of(event)
    checked_stream(stream)
    declared = msgspec.structs.asdict(declared_in(headers_in(event)))
    return InboundMessage(
        device_id=sender.device_id,
        device_type=sender.device_type,
        is_quarantined=sender.is_quarantined,
        stream=stream,
        asked=asked,
        arrival_millis=arrival_millis,
        body=body_of(event),
        **declared,
    )


def batch_from(event: Mapping[str, Any], *, arrival_millis: int) -> Batch:
    """Read a proxy event whose body is a CloudEvents JSON batch; its entries are not looked at.

    Raises:
        UnauthenticatedError: The authorizer gave no identity.
        RevokedError: It gave that of a revoked device.
        BadRequestError: The body is said to be something else, a header belongs to single
            messages alone, or the body is no Base64.
    """
    sender = sender_of(event)
    _check_batch(headers_in(event))
    return Batch(sender=sender, arrival_millis=arrival_millis, document=body_of(event))


def _check_batch(headers: Mapping[str, str]) -> None:
    """A batch says what it is, and of single messages nothing: its entries do that."""
    content_type = headers.get("content-type", "")
    if content_type.partition(";")[0].strip().lower() != _CLOUDEVENTS_BATCH:
        raise refusal("header Content-Type", content_type, _CLOUDEVENTS_BATCH)
    for name, attribute in _OF_ONE_MESSAGE.items():
        if name in headers:
            problem = f"header {name} is of single messages; an entry has `{attribute}`"
            raise BadRequestError(problem)
