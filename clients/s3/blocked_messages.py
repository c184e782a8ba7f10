"""Messages that halt their flows: what is wrong with each, and whether it is to be skipped."""

from collections.abc import Iterator
from contextlib import closing
from typing import TYPE_CHECKING

import msgspec
from botocore.exceptions import BotoCoreError, ClientError

from fleetlane.events.errors import FleetlaneError, ParkedReason
from fleetlane.events.lanes import Lane
from fleetlane.events.parked import KafkaPosition
from fleetlane.events.s3_keys import BLOCKED_MESSAGES
from fleetlane.events.topics import RawTopic

if TYPE_CHECKING:
    from mypy_boto3_s3.client import S3Client


class BlockedMessage(msgspec.Struct, frozen=True, kw_only=True):
    """A message that could not be parsed. Once it is to be skipped its flow goes on without it."""

    topic: str
    partition: int
    offset: int
    reason: ParkedReason
    detail: str
    parser: str | None
    blocked_ms: int
    is_skipped: bool = False

    def __str__(self) -> str:
        return f"{self.topic}/{self.partition}/{self.offset}: {self.reason}: {self.detail}"


class BlockedMessagesUnavailableError(FleetlaneError):
    """S3 does not answer, so blocked messages are unknown. Trying again may succeed."""

    reason = "blockade_unknown"
    key: str
    problem: str
    sentence = "{key}: {problem}"


class BlockedMessages:
    """One small object a message, beside what is parked, where nothing expires.

    ``s3`` is a client whose maker bounded its waits. Every method raises
    ``BlockedMessagesUnavailableError`` where S3 does not answer.
    """

    def __init__(self, s3: "S3Client", bucket: str) -> None:
        self._s3, self._bucket = s3, bucket

    def found(self, position: KafkaPosition) -> BlockedMessage | None:
        """The message at a position of Kafka's, if it was ever blocked and not tried again."""
        return self._read(_key(position.topic, position.partition, position.offset))

    def put(self, blocked: BlockedMessage) -> None:
        key = _key(blocked.topic, blocked.partition, blocked.offset)
        self._write(key, msgspec.json.encode(blocked))

    def waiting(self, topic: str) -> list[BlockedMessage]:
        """The messages of a topic that wait for an operator."""
        found = (self._read(key) for key in self._keys(f"{BLOCKED_MESSAGES}{topic}/"))
        return [one for one in found if one is not None and not one.is_skipped]

    def skip(self, blocked: BlockedMessage) -> None:
        """Let it be parked, and its flow go on."""
        self.put(msgspec.structs.replace(blocked, is_skipped=True))

    def retry(self, blocked: BlockedMessage) -> None:
        """Let it be tried again."""
        key = _key(blocked.topic, blocked.partition, blocked.offset)
        try:
            self._s3.delete_object(Bucket=self._bucket, Key=key)
        except (BotoCoreError, ClientError) as problem:
            raise BlockedMessagesUnavailableError(key, str(problem)) from problem

    def _keys(self, prefix: str) -> Iterator[str]:
        pages = self._s3.get_paginator("list_objects_v2")
        try:
            for page in pages.paginate(Bucket=self._bucket, Prefix=prefix):
                yield from (one["Key"] for one in page.get("Contents", ()))
        except (BotoCoreError, ClientError) as problem:
            raise BlockedMessagesUnavailableError(prefix, str(problem)) from problem

    def _read(self, key: str) -> BlockedMessage | None:
        try:
            answer = self._s3.get_object(Bucket=self._bucket, Key=key)
            with closing(answer["Body"]) as body:
                return msgspec.json.decode(body.read(), type=BlockedMessage)
        except self._s3.exceptions.NoSuchKey:
            return None
        except (BotoCoreError, ClientError, OSError, msgspec.MsgspecError) as problem:
            raise BlockedMessagesUnavailableError(key, str(problem)) from problem

    def _write(self, key: str, body: bytes) -> None:
        try:
            self._s3.put_object(Bucket=self._bucket, Key=key, Body=body)
        except (BotoCoreError, ClientError) as problem:
            raise BlockedMessagesUnavailableError(key, str(problem)) from problem


def blocking_topics(stream: str) -> list[str]:
    """The topics that messages of a blocking flow land in: one a lane."""
    return [str(RawTopic(lane=lane, blocking_stream=stream)) for lane in Lane]


def _key(topic: str, partition: int, offset: int) -> str:
    return f"{BLOCKED_MESSAGES}{topic}/{partition}-{offset}.json"
