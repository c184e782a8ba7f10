"""Where messages are kept, in Kafka and in S3: what looking back and replaying need."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final, Self

from clients.kafka.producer import KafkaProducer
from clients.s3.payload_bucket import PayloadBucket
from fleetlane.events.job_arguments import KafkaSecurity
from fleetlane.events.stage_resources import StageResources
from operations.messages.stored_payloads import StoredPayloads
from operations.messages.stored_records import StoredRecords

if TYPE_CHECKING:
    from mypy_boto3_s3.client import S3Client

_DELIVERY_TIMEOUT_S: Final = 30.0


@dataclass(frozen=True, slots=True, kw_only=True)
class MessageStores:
    """The Kafka, and the payloads, of one platform or stage."""

    bootstrap_servers: str
    security: KafkaSecurity
    landed_bodies: PayloadBucket
    parked_bodies: PayloadBucket

    @classmethod
    def of(cls, resources: StageResources, s3: "S3Client") -> Self:
        return cls(
            bootstrap_servers=resources.kafka_bootstrap_servers,
            security=resources.kafka_security,
            landed_bodies=PayloadBucket(s3, resources.payload_bucket),
            parked_bodies=PayloadBucket(s3, resources.parked_bucket),
        )

    @property
    def payloads(self) -> StoredPayloads:
        return StoredPayloads(landed=self.landed_bodies, parked=self.parked_bodies)

    def records(self, on_read: Callable[[int], None]) -> StoredRecords:
        """All records in Kafka; ``on_read`` receives how many were read so far."""
        return StoredRecords(self.bootstrap_servers, security=self.security, on_read=on_read)

    def producer(self) -> KafkaProducer:
        return KafkaProducer(
            bootstrap_servers=self.bootstrap_servers,
            security=self.security,
            delivery_timeout_s=_DELIVERY_TIMEOUT_S,
        )
