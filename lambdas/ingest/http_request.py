"""Reading API Gateway's event: the message that a device sent, with its body's very bytes."""

from collections.abc import Mapping
from typing import Any

from clients.device_request import DeclaredHeaders, body_of, checked_stream, sender_of
from fleetlane.events.lanes import Lane
from lambdas.ingest.uploads import Upload


def upload_from(
    event: Mapping[str, Any], *, stream: str, asked: Lane, arrival_millis: int
) -> Upload:
    """Read a proxy event (API Gateway REST, v1).

    Raises:
        UnauthenticatedError: The authorizer gave no identity.
        RevokedError: It gave that of a revoked device.
        NoRouteError: The stream's name is not allowed.
        BadRequestError: A header's value is not allowed, or the body is no Base64.
    """
    sender = sender_of(event)
    checked_stream(stream)
    headers = DeclaredHeaders(event.get("headers"))
    headers.check_content_encoding()
    start_millis, end_millis = headers.span()
    return Upload(
        device_id=sender.device_id,
        device_type=sender.device_type,
        is_quarantined=sender.is_quarantined,
        stream=stream,
        asked=asked,
        arrival_millis=arrival_millis,
        body=body_of(event),
        content_type=headers.content_type(),
        idempotency_key=headers.idempotency_key(),
        firmware=headers.firmware(),
        start_millis=start_millis,
        end_millis=end_millis,
        body_encoding=headers.body_encoding(),
    )
