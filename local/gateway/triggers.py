"""What calls functions besides the API: messages in a queue, and the clock, as Lambda does it."""

import sys
import threading
import traceback
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

from botocore.exceptions import BotoCoreError, ClientError

from local.gateway.functions import Handler, LambdaContext

if TYPE_CHECKING:
    from mypy_boto3_sqs import SQSClient
    from mypy_boto3_sqs.type_defs import MessageTypeDef

BATCH_MESSAGES_MAX: Final = 10
_WAIT_S: Final = 1
_TIMEOUT_S: Final = 60.0

_NEVER: Final = threading.Event()


@dataclass(frozen=True, slots=True, kw_only=True)
class Queue:
    """A queue that a function takes messages from."""

    sqs: "SQSClient"
    url: str


def in_background(work: Callable[[], None]) -> None:
    """Run ``work`` until this process ends, however it ends: a message in hand comes again."""
    threading.Thread(target=work, daemon=True).start()


def call_for_messages(
    handler: Handler, queue: Queue, *, name: str, until: threading.Event = _NEVER
) -> None:
    """Hand batches to a function; delete what it did not name as failed. Blocks.

    Where it fails whole, its whole batch comes again. While the queue cannot be reached, asks again
    every second.
    """
    while not until.is_set():
        try:
            received = queue.sqs.receive_message(
                QueueUrl=queue.url,
                MaxNumberOfMessages=BATCH_MESSAGES_MAX,
                WaitTimeSeconds=_WAIT_S,
                MessageSystemAttributeNames=["All"],
            )
            messages = received.get("Messages", [])
            for message in _seen_to(handler, messages, name):
                queue.sqs.delete_message(QueueUrl=queue.url, ReceiptHandle=message["ReceiptHandle"])
        except (BotoCoreError, ClientError):
            until.wait(_WAIT_S)


def call_by_the_clock(handler: Handler, *, every_s: float, until: threading.Event = _NEVER) -> None:
    """Call a function again and again, never twice at once. Blocks."""
    while not until.wait(every_s):
        _called(handler, {"source": "aws.events", "detail-type": "Scheduled Event"}, "sweep")


def _seen_to(
    handler: Handler, messages: "list[MessageTypeDef]", name: str
) -> "list[MessageTypeDef]":
    """Those that the function is done with."""
    if not messages:
        return []
    returned = _called(handler, {"Records": [_record(one) for one in messages]}, name)
    if not isinstance(returned, Mapping):
        return []
    failed = {one["itemIdentifier"] for one in returned.get("batchItemFailures", ())}
    return [one for one in messages if one["MessageId"] not in failed]


def _called(handler: Handler, event: dict[str, Any], name: str) -> object:
    try:
        return handler(event, LambdaContext(name, timeout_s=_TIMEOUT_S))
    except Exception:  # noqa: BLE001 - the edge to the function
        traceback.print_exc(file=sys.stderr)
        return None


def _record(message: "MessageTypeDef") -> dict[str, Any]:
    """A message as Lambda writes it."""
    return {
        "messageId": message["MessageId"],
        "receiptHandle": message["ReceiptHandle"],
        "body": message["Body"],
        "attributes": message.get("Attributes", {}),
        "messageAttributes": {},
        "eventSource": "aws:sqs",
        "awsRegion": "eu-central-1",
    }
