"""Functions are called for messages and by the clock, as Lambda calls them."""

import threading
from collections.abc import Iterator
from typing import Any

import boto3
import pytest
from moto import mock_aws

from local.gateway.triggers import Queue, call_by_the_clock, call_for_messages


@pytest.fixture
def queue(monkeypatch: pytest.MonkeyPatch) -> Iterator[Queue]:
    monkeypatch.setenv("AWS_ACCESS_KEY_ID", "test")
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", "test")
    with mock_aws():
        sqs = boto3.client("sqs", region_name="us-east-1")
        url = sqs.create_queue(QueueName="q", Attributes={"VisibilityTimeout": "0"})["QueueUrl"]
        yield Queue(sqs=sqs, url=url)


class Function:
    """Takes what ``answer`` says, until it was called so often."""

    def __init__(self, answer: Any, *, calls: int) -> None:
        self.events: list[Any] = []
        self.done = threading.Event()
        self._answer, self._calls = answer, calls

    def __call__(self, event: Any, context: Any) -> object:
        assert context.get_remaining_time_in_millis() > 0
        self.events.append(event)
        if len(self.events) == self._calls:
            self.done.set()
        if isinstance(self._answer, Exception):
            raise self._answer
        return self._answer(event)


def bodies(event: Any) -> list[str]:
    return sorted(record["body"] for record in event["Records"])


def failing(*failed: str) -> Any:
    def answer(event: Any) -> dict[str, Any]:
        ids = [one["messageId"] for one in event["Records"] if one["body"] in failed]
        return {"batchItemFailures": [{"itemIdentifier": one} for one in ids]}

    return answer


def test_messages_come_in_a_batch_and_those_that_failed_come_again(queue: Queue) -> None:
    for body in ("one", "two"):
        queue.sqs.send_message(QueueUrl=queue.url, MessageBody=body)
    function = Function(failing("two"), calls=2)

    call_for_messages(function, queue, name="f", until=function.done)

    assert [bodies(event) for event in function.events] == [["one", "two"], ["two"]]


def test_a_function_that_fails_gets_its_whole_batch_again(queue: Queue) -> None:
    queue.sqs.send_message(QueueUrl=queue.url, MessageBody="one")
    function = Function(RuntimeError("no"), calls=2)

    call_for_messages(function, queue, name="f", until=function.done)

    assert [bodies(event) for event in function.events] == [["one"], ["one"]]


def test_the_clock_calls_again_and_again(capsys: pytest.CaptureFixture[str]) -> None:
    function = Function(RuntimeError("no"), calls=2)

    call_by_the_clock(function, every_s=0.01, until=function.done)

    assert len(function.events) == 2
    assert "RuntimeError: no" in capsys.readouterr().err
