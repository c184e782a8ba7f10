"""Messages that their flows wait for, in S3, here moto's."""

from collections.abc import Iterator
from typing import TYPE_CHECKING

import pytest

from clients.s3.blocked_messages import (
    BlockedMessage,
    BlockedMessages,
    BlockedMessagesUnavailableError,
    blocking_topics,
)
from fleetlane.events.envelope import KafkaPosition
from fleetlane.events.errors import ParkedReason
from fleetlane.events.lanes import Lane
from tests.contract.aws_in_process import buckets

if TYPE_CHECKING:
    from mypy_boto3_s3.client import S3Client

TOPIC = "raw.fast.block.door"


@pytest.fixture
def s3() -> "Iterator[S3Client]":
    with buckets("parked") as s3:
        yield s3


@pytest.fixture
def messages(s3: "S3Client") -> BlockedMessages:
    return BlockedMessages(s3, "parked")


def blocked(offset: int, *, topic: str = TOPIC) -> BlockedMessage:
    return BlockedMessage(
        topic=topic,
        partition=0,
        offset=offset,
        reason=ParkedReason.MALFORMED,
        detail="no JSON",
        parser="json@1",
        blocked_ms=1_762_178_709_123,
    )


def position(offset: int, topic: str = TOPIC) -> KafkaPosition:
    return KafkaPosition(topic=topic, partition=0, offset=offset)


def test_what_was_put_is_found_at_its_position_and_waits(messages: BlockedMessages) -> None:
    messages.put(blocked(7))

    assert messages.found(position(7)) == blocked(7)
    assert messages.found(position(8)) is None
    assert messages.waiting(TOPIC) == [blocked(7)]


def test_another_topic_s_messages_do_not_wait_here(messages: BlockedMessages) -> None:
    messages.put(blocked(7, topic=f"{TOPIC}s"))

    assert messages.waiting(TOPIC) == []


def test_what_is_skipped_waits_no_more_and_is_still_found(messages: BlockedMessages) -> None:
    messages.put(blocked(7))

    messages.skip(blocked(7))

    found = messages.found(position(7))
    assert messages.waiting(TOPIC) == []
    assert found is not None
    assert found.is_skipped


def test_what_is_tried_again_is_forgotten(messages: BlockedMessages) -> None:
    messages.put(blocked(7))

    messages.retry(blocked(7))

    assert messages.waiting(TOPIC) == []
    assert messages.found(position(7)) is None


def test_a_bucket_that_is_unavailable_is_an_error_of_its_own(s3: "S3Client") -> None:
    messages = BlockedMessages(s3, "nobodys")

    for ask in (
        lambda: messages.found(position(7)),
        lambda: messages.waiting(TOPIC),
        lambda: messages.put(blocked(7)),
        lambda: messages.retry(blocked(7)),
    ):
        with pytest.raises(BlockedMessagesUnavailableError):
            ask()


def test_a_stream_has_a_topic_a_lane() -> None:
    assert blocking_topics("door") == [f"raw.{lane}.block.door" for lane in Lane]
