"""S3's notifications as a queue delivers them: landed one by one, those that failed named."""

from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any, Final
from urllib.parse import unquote_plus

import msgspec

from clients.flows.store import FlowsUnavailableError
from clients.kafka.producer import NotDurableError
from clients.s3.payload_bucket import PayloadMissingError, PayloadUnavailableError
from clients.s3.upload_keys import NotAnUploadError
from fleetlane.events.errors import FleetlaneError

OUTAGES: Final = (NotDurableError, PayloadUnavailableError, FlowsUnavailableError)
"""Errors that are no upload's fault: the next one would meet them too."""

FAULTS: Final = (NotAnUploadError, PayloadMissingError)
"""Errors of one upload alone."""


class BadNotificationError(FleetlaneError):
    """A message in the queue is no notification of S3's."""

    reason = "bad_notification"
    problem: str
    sentence = "a message in the queue of uploads is no notification of S3: {problem}"


def failed_messages(
    messages: Iterable[Mapping[str, Any]],
    land: Callable[[str], object],
    on_failure: Callable[[FleetlaneError], None],
) -> list[str]:
    """Land what a batch of messages tells of; give the ids of those that are to come again.

    After an outage nothing more is tried: a batch waits for Kafka or S3 once, not once a message.
    """
    failed: list[str] = []
    is_out = False
    for message in messages:
        try:
            if not is_out:
                for key in uploaded_keys(message["body"]):
                    land(key)
                continue
        except OUTAGES as problem:
            is_out = True
            on_failure(problem)
        except (*FAULTS, BadNotificationError) as problem:
            on_failure(problem)
        failed.append(message["messageId"])
    return failed


def uploaded_keys(notification: str) -> Iterator[str]:
    """Read the keys in a notification; S3's test message has none.

    Raises:
        BadNotificationError: It is none of S3's.
    """
    try:
        content = msgspec.json.decode(notification, type=_Notification)
    except (msgspec.MsgspecError, UnicodeError) as problem:
        raise BadNotificationError(str(problem)) from None
    if content.Event != _TEST and not content.Records:
        raise BadNotificationError("it names no object")
    for record in content.Records:
        yield unquote_plus(record.s3.object.key)


_TEST: Final = "s3:TestEvent"


class _Object(msgspec.Struct, frozen=True):
    key: str


class _S3(msgspec.Struct, frozen=True):
    object: _Object


class _Record(msgspec.Struct, frozen=True):
    s3: _S3


class _Notification(msgspec.Struct, frozen=True):
    """S3's own names."""

    Records: tuple[_Record, ...] = ()
    Event: str = ""
