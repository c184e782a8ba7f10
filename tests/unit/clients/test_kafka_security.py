"""What librdkafka is told of security."""

from confluent_kafka import Producer

from clients.kafka_security import security_configuration
from fleetlane.events.job_arguments import KafkaSecurity


def test_on_one_machine_nothing_is_asked_for() -> None:
    assert security_configuration(KafkaSecurity.PLAINTEXT) == {}


def test_msk_is_reached_by_tls_with_a_token_of_the_role() -> None:
    configuration = security_configuration(KafkaSecurity.IAM)

    assert configuration["security.protocol"] == "SASL_SSL"
    assert configuration["sasl.mechanisms"] == "OAUTHBEARER"
    assert callable(configuration["oauth_cb"])


def test_librdkafka_takes_the_configuration() -> None:
    configuration = security_configuration(KafkaSecurity.IAM) | {"oauth_cb": lambda _: ("t", 1e12)}

    Producer({"bootstrap.servers": "127.0.0.1:9", "log_level": 0, **configuration})
