"""A function is called for a queue's messages, and only what it did not fail at is gone."""

import threading
from collections.abc import Iterator
from typing import Any

import boto3
import pytest
from moto import mock_aws

from local.gateway.functions import QueueSource

PATIENCE_S = 30.0

type Queue = tuple[Any, str]
"""A client of SQS, and the queue's URL."""


@pytest.fixture
def queue(monkeypatch: pytest.MonkeyPatch) -> Iterator[Queue]:
    monkeypatch.setenv("AWS_ACCESS_KEY_ID", "test")
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", "test")
    with mock_aws():
        sqs = boto3.client("sqs", region_name="us-east-1")
        url = sqs.create_queue(QueueName="q", Attributes={"VisibilityTimeout": "0"})["QueueUrl"]
        for body in ("one", "two"):
            sqs.send_message(QueueUrl=url, MessageBody=body)
        yield sqs, url


class Function:
    """Fails at some messages, or whole; remembers what it was called with."""

    def __init__(self, *failing: str, fails_whole: bool = False) -> None:
        self.batches: list[list[str]] = []
        self.has_two = threading.Event()
        self._failing, self._fails_whole = failing, fails_whole

    def __call__(self, event: Any, context: Any) -> object:
        assert context.get_remaining_time_in_millis() > 0
        self.batches.append(sorted(record["body"] for record in event["Records"]))
        if len(self.batches) == 2:
            self.has_two.set()
        if self._fails_whole:
            raise RuntimeError("no")
        failed = [one["messageId"] for one in event["Records"] if one["body"] in self._failing]
        return {"batchItemFailures": [{"itemIdentifier": one} for one in failed]}


def called_twice(function: Function, queue: Queue) -> list[list[str]]:
    sqs, url = queue
    source = QueueSource(function, sqs, url=url, name="f")
    source.start()
    assert function.has_two.wait(PATIENCE_S)
    source.stop()
    source.join(PATIENCE_S)
    return function.batches[:2]


def test_messages_come_in_a_batch_and_those_that_failed_come_again(queue: Queue) -> None:
    batches = called_twice(Function("two"), queue)

    assert batches == [["one", "two"], ["two"]]


def test_a_function_that_fails_gets_its_whole_batch_again(
    queue: Queue, capsys: pytest.CaptureFixture[str]
) -> None:
    batches = called_twice(Function(fails_whole=True), queue)

    assert batches == [["one", "two"], ["one", "two"]]
    assert "RuntimeError: no" in capsys.readouterr().err
