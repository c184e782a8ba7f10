"""Calling a function for the messages of a queue, as Lambda does."""

import sys
import threading
import traceback
from collections.abc import Mapping
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


@dataclass(frozen=True, slots=True, kw_only=True)
class Queue:
    """A queue that a function takes messages from."""

    sqs: "SQSClient"
    url: str


class QueueSource:
    """Hands batches to ``function`` in a thread of its own, and deletes what did not fail.

    What it names as failed comes again, and so does its whole batch where it fails. While the queue
    cannot be reached, it is asked again every second.
    """

    def __init__(self, function: Handler, queue: Queue, *, name: str) -> None:
        self._function, self._queue, self._name = function, queue, name
        self._over = threading.Event()
        self._thread = threading.Thread(target=self._run, name=name, daemon=True)

    def start(self) -> None:
        self._thread.start()

    def stop(self) -> None:
        """Take no more messages; does not wait: a message in hand comes again."""
        self._over.set()

    def _run(self) -> None:
        while not self._over.is_set():
            try:
                self._take_batch()
            except (BotoCoreError, ClientError):
                self._over.wait(_WAIT_S)

    def _take_batch(self) -> None:
        sqs, url = self._queue.sqs, self._queue.url
        received = sqs.receive_message(
            QueueUrl=url,
            MaxNumberOfMessages=BATCH_MESSAGES_MAX,
            WaitTimeSeconds=_WAIT_S,
            MessageSystemAttributeNames=["All"],
        )
        for message in self._seen_to(received.get("Messages", [])):
            sqs.delete_message(QueueUrl=url, ReceiptHandle=message["ReceiptHandle"])

    def _seen_to(self, messages: "list[MessageTypeDef]") -> "list[MessageTypeDef]":
        """Those that the function is done with."""
        if not messages:
            return []
        event = {"Records": [_record(one) for one in messages]}
        try:
            returned = self._function(event, LambdaContext(self._name, timeout_s=_TIMEOUT_S))
        except Exception:  # noqa: BLE001 - the edge to the function
            traceback.print_exc(file=sys.stderr)
            return []
        failures = returned.get("batchItemFailures", ()) if isinstance(returned, Mapping) else ()
        failed = {one["itemIdentifier"] for one in failures}
        return [one for one in messages if one["MessageId"] not in failed]


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
