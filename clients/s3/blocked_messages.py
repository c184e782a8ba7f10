"""Messages that halt their flows: what is wrong with each, and whether it is to be skipped."""

import msgspec

from clients.aws import S3Client
from clients.bucket_objects import BucketObjects
from fleetlane.events.envelope import KafkaPosition
from fleetlane.events.errors import FleetlaneError, ParkedReason
from fleetlane.events.lanes import Lane
from fleetlane.events.s3_keys import BLOCKED_MESSAGES
from fleetlane.events.topics import RawTopic


class BlockedMessage(msgspec.Struct, frozen=True, kw_only=True):
    """A message that could not be parsed. Once it is to be skipped its flow goes on without it.

    ``digest`` is its record's: a topic that is made anew has the same positions once more.
    """

    topic: str
    partition: int
    offset: int
    reason: ParkedReason
    detail: str
    parser: str | None
    blocked_ms: int
    is_skipped: bool = False
    digest: str = ""

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

    def __init__(self, s3: S3Client, bucket: str) -> None:
        self._objects = BucketObjects(s3, bucket, BlockedMessagesUnavailableError)

    def found(self, position: KafkaPosition) -> BlockedMessage | None:
        """The message at a position of Kafka's, if it was ever blocked and not tried again."""
        return self._objects.read(_key(position), BlockedMessage)

    def put(self, blocked: BlockedMessage) -> None:
        self._objects.put(_key(blocked), msgspec.json.encode(blocked))

    def waiting(self, topic: str) -> list[BlockedMessage]:
        """The messages of a topic that wait for an operator."""
        listed = self._objects.listed(f"{BLOCKED_MESSAGES}{topic}/")
        found = (self._objects.read(one["Key"], BlockedMessage) for one in listed)
        return [one for one in found if one is not None and not one.is_skipped]

    def skip(self, blocked: BlockedMessage) -> None:
        """Let it be parked, and its flow go on."""
        self.put(msgspec.structs.replace(blocked, is_skipped=True))

    def retry(self, blocked: BlockedMessage) -> None:
        self._objects.delete(_key(blocked))


def blocking_topics(stream: str) -> list[str]:
    """The topics that messages of a blocking flow land in: one a lane."""
    return [str(RawTopic(lane=lane, blocking_stream=stream)) for lane in Lane]


def _key(at: KafkaPosition | BlockedMessage) -> str:
    return f"{BLOCKED_MESSAGES}{at.topic}/{at.partition}-{at.offset}.json"
