"""Where Kafka is, and what functions may do there."""

from collections.abc import Mapping
from dataclasses import dataclass

from fleetlane.events.job_arguments import KafkaSecurity
from infra.constructs.kafka.access import KafkaAccess


@dataclass(frozen=True, slots=True, kw_only=True)
class KafkaPlace:
    """Where Kafka is. ``access`` is ``None`` where anybody on the machine may use it."""

    bootstrap_servers: str
    access: KafkaAccess | None

    @property
    def settings(self) -> Mapping[str, str]:
        """What a function is told of it."""
        security = KafkaSecurity.PLAINTEXT if self.access is None else KafkaSecurity.IAM
        return {
            "KAFKA_BOOTSTRAP_SERVERS": self.bootstrap_servers,
            "KAFKA_SECURITY": security,
        }
