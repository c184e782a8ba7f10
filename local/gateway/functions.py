"""What functions' handlers are called with, and calls by EventBridge's schedule and SQS."""

import threading
import time
import traceback
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, Final

from botocore.exceptions import BotoCoreError, ClientError

from local.gateway.event import Event

if TYPE_CHECKING:
    from mypy_boto3_sqs import SQSClient

BATCH_MESSAGES_MAX: Final = 10
_WAIT_S: Final = 1
_TIMEOUT_S: Final = 60.0

type Handler = Callable[[Event, object], object]


class LambdaContext:
    """What our handlers ask of Lambda."""

    def __init__(self, *, timeout_s: float) -> None:
        self._deadline_s = time.monotonic() + timeout_s

    def get_remaining_time_in_millis(self) -> int:
        return max(0, round((self._deadline_s - time.monotonic()) * 1000))


class _EventSource(threading.Thread):
    """Calls ``function``, one call at a time; ends with the process."""

    def __init__(self, function: Handler, *, name: str) -> None:
        super().__init__(name=name, daemon=True)
        self._function = function
        self._stopping = threading.Event()

    def stop(self) -> None:
        """Make no more calls; does not wait for a call that is under way."""
        self._stopping.set()

    def _called(self, event: Event) -> Any:
        """Call the function; where it fails, print why and return ``None``."""
        try:
            return self._function(event, LambdaContext(timeout_s=_TIMEOUT_S))
        except Exception:  # noqa: BLE001 - the edge to the function
            traceback.print_exc()


class Schedule(_EventSource):
    """Calls ``function`` every so many seconds, whether it fails or not."""

    def __init__(self, function: Handler, *, name: str, every_s: float) -> None:
        super().__init__(function, name=name)
        self._every_s = every_s

    def run(self) -> None:
        while not self._stopping.wait(self._every_s):
            self._called({})


class QueueSource(_EventSource):
    """Hands batches of a queue to ``function``, and deletes the messages that did not fail.

    A message that it names as failed comes again, and so does its whole batch where it fails. While
    the queue cannot be reached, it is polled every second.
    """

    def __init__(self, function: Handler, sqs: "SQSClient", *, url: str, name: str) -> None:
        super().__init__(function, name=name)
        self._sqs, self._url = sqs, url

    def run(self) -> None:
        while not self._stopping.is_set():
            try:
                self._handle_batch()
            except (BotoCoreError, ClientError):
                self._stopping.wait(_WAIT_S)

    def _handle_batch(self) -> None:
        sqs, url = self._sqs, self._url
        messages = sqs.receive_message(
            QueueUrl=url, MaxNumberOfMessages=BATCH_MESSAGES_MAX, WaitTimeSeconds=_WAIT_S
        ).get("Messages", [])
        records = [{"messageId": one["MessageId"], "body": one["Body"]} for one in messages]
        returned = self._called({"Records": records}) if records else None
        if returned is None:
            return
        failed = {one["itemIdentifier"] for one in returned["batchItemFailures"]}
        for message in messages:
            if message["MessageId"] not in failed:
                sqs.delete_message(QueueUrl=url, ReceiptHandle=message["ReceiptHandle"])
