"""The security settings of librdkafka."""

from collections.abc import Mapping
from typing import Any

from confluent_kafka import Producer

from clients.kafka.producer import KafkaProducer
from clients.kafka.security import security_configuration
from fleetlane.events.job_arguments import KafkaSecurity
from tests.unit.clients.test_kafka_producer_faults import RECORD, Full


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


def test_a_producer_is_opened_anew_once_its_token_is_over() -> None:
    connections, clock = Connections(), iter([0.0, 899.0, 900.0, 1_799.0])
    producer = KafkaProducer(
        bootstrap_servers="unused",
        security={"oauth_cb": lambda _: ("token", 900.0 * (connections.opened + 1))},
        connect=connections,
        clock_s=lambda: next(clock),
    )

    opened = [producer.land_all([RECORD]) and connections.opened for _ in range(4)]

    assert opened == [1, 1, 2, 2]


class Connections:
    """Makes producers beneath, each of which asks for a token; and counts them."""

    def __init__(self) -> None:
        self.opened = 0

    def __call__(self, configuration: Mapping[str, Any]) -> Full:
        configuration["oauth_cb"]("")
        self.opened += 1
        return Full()
