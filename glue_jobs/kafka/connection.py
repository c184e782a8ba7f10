"""How Spark, and what runs beside it in its JVM, reach Kafka."""

from typing import Final

from fleetlane.events.job_arguments import JobArguments, KafkaSecurity

_IAM: Final = {
    "kafka.security.protocol": "SASL_SSL",
    "kafka.sasl.mechanism": "AWS_MSK_IAM",
    "kafka.sasl.jaas.config": "software.amazon.msk.auth.iam.IAMLoginModule required;",
    "kafka.sasl.client.callback.handler.class": (
        "software.amazon.msk.auth.iam.IAMClientCallbackHandler"
    ),
}
"""As Amazon's own login module wants it: the role's credentials, no secret in any option."""


def kafka_connection(arguments: JobArguments) -> dict[str, str]:
    """The options by which Spark reaches Kafka: Kafka's own, each behind ``kafka.``."""
    servers = {"kafka.bootstrap.servers": arguments.kafka_bootstrap_servers}
    match arguments.kafka_security:
        case KafkaSecurity.PLAINTEXT:
            return servers
        case KafkaSecurity.IAM:
            return servers | _IAM
