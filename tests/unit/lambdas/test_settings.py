import pytest

from clients.environment import BadSettingError, read_settings
from fleetlane.events.job_arguments import KafkaSecurity
from fleetlane.events.overrides import RateLimits
from lambdas.authorizer import handler as authorizer
from lambdas.flow_activation import handler as flow_activation
from lambdas.http.dependencies import DeviceSettings
from lambdas.ingest import handler as ingest
from lambdas.respool import handler as respool

KAFKA = {"KAFKA_BOOTSTRAP_SERVERS": "b-1:9098"}
INGEST = KAFKA | {
    "PAYLOAD_BUCKET": "payloads",
    "SPOOL_BUCKET": "spool",
    "FLOWS_BUCKET": "flows",
    "REGISTRY_TABLE": "devices",
    "RECEIPTS_TABLE": "receipts",
    "OVERRIDES_BUCKET": "overrides",
}
TOPIC = {"TOPIC_PARTITIONS": "6", "TOPIC_REPLICATION": "3", "REPLICAS_MAX": "3000"}
ACTIVATION = KAFKA | TOPIC | {"FLOWS_BUCKET": "flows"}


def test_ingest_reads_where_bodies_go() -> None:
    read = read_settings(ingest.Settings, INGEST | {"KAFKA_SECURITY": "plaintext"})

    assert read == ingest.Settings(
        kafka_bootstrap_servers="b-1:9098",
        kafka_security=KafkaSecurity.PLAINTEXT,
        payload_bucket="payloads",
        spool_bucket="spool",
        devices=DeviceSettings(
            flows_bucket="flows", overrides_bucket="overrides", registry_table="devices"
        ),
        receipts_table="receipts",
        receipts_wait_ms=200,
    )


def test_ingest_reads_its_rate_limits() -> None:
    read = read_settings(
        ingest.Settings,
        INGEST | {"SOFT_RATE_LIMIT_PER_MINUTE": "600", "HARD_RATE_LIMIT_PER_MINUTE": "1200"},
    )

    assert read.devices.rate_limits == RateLimits(soft_per_minute=600, hard_per_minute=1_200)


@pytest.mark.parametrize(
    ("soft", "hard", "named"),
    [
        ("2", "1", "SOFT_RATE_LIMIT_PER_MINUTE is not allowed: `soft_per_minute` 2 is over"),
        ("2", "", "HARD_RATE_LIMIT_PER_MINUTE is missing or empty"),
        ("", "2", "SOFT_RATE_LIMIT_PER_MINUTE is missing or empty"),
        ("0", "2", "SOFT_RATE_LIMIT_PER_MINUTE is '0'"),
    ],
)
def test_ingest_does_not_start_with_rate_limits_that_cannot_be(
    soft: str, hard: str, named: str
) -> None:
    with pytest.raises(BadSettingError, match=named):
        read_settings(
            ingest.Settings,
            INGEST | {"SOFT_RATE_LIMIT_PER_MINUTE": soft, "HARD_RATE_LIMIT_PER_MINUTE": hard},
        )


def test_activation_reads_what_new_topics_are_like() -> None:
    read = read_settings(flow_activation.Settings, ACTIVATION)

    assert read == flow_activation.Settings(
        kafka_bootstrap_servers="b-1:9098",
        kafka_security=KafkaSecurity.IAM,
        flows_bucket="flows",
        topic_partitions=6,
        topic_replication=3,
        replicas_max=3_000,
    )


def test_respool_reads_from_where_to_where() -> None:
    read = read_settings(respool.Settings, KAFKA | {"SPOOL_BUCKET": "spool"})

    assert read == respool.Settings(
        kafka_bootstrap_servers="b-1:9098", kafka_security=KafkaSecurity.IAM, spool_bucket="spool"
    )


def test_a_setting_that_is_none_of_the_choices_names_them() -> None:
    with pytest.raises(BadSettingError, match=r"KAFKA_SECURITY is 'ssl'; allowed: iam, plaintext"):
        read_settings(ingest.Settings, INGEST | {"KAFKA_SECURITY": "ssl"})


@pytest.mark.parametrize("name", INGEST)
def test_ingest_does_not_start_without_a_setting(name: str) -> None:
    with pytest.raises(BadSettingError, match=name):
        read_settings(ingest.Settings, {key: value for key, value in INGEST.items() if key != name})


@pytest.mark.parametrize("name", ACTIVATION)
def test_activation_does_not_start_without_a_setting(name: str) -> None:
    with pytest.raises(BadSettingError, match=name):
        read_settings(
            flow_activation.Settings,
            {key: value for key, value in ACTIVATION.items() if key != name},
        )


def test_the_authorizer_does_not_start_without_its_table() -> None:
    with pytest.raises(BadSettingError, match="REGISTRY_TABLE"):
        read_settings(authorizer.Settings, {})
