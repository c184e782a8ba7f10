"""The jobs run by spark-submit with the very arguments that a deploy gives to Glue and EMR.

Only places differ: addresses, buckets, and how Kafka is reached. There is no CloudWatch.
"""

import os
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import boto3
import msgspec
import pytest

from clients.flows.store import FlowStore
from clients.kafka.producer import KafkaProducer
from clients.kafka.producer_record import ProducerRecord
from clients.kafka.reader import KafkaReader
from clients.kafka.topics import KafkaTopics
from fleetlane.events.envelope import Message, headers_of
from fleetlane.events.flows.files import flow_from_toml
from fleetlane.events.flows.flow import topics_of
from fleetlane.events.job_arguments import HostArguments, KafkaSecurity
from fleetlane.events.lanes import Lane
from fleetlane.events.metadata import Outcome, parsed_from, received_from
from fleetlane.events.names import random_raw_id
from fleetlane.events.stage_resources import StageResources
from fleetlane.events.topics import FLEET_PARSED, FLEET_RECEIVED, raw_key
from infra.constructs.jobs.spark_applications import LAKE_TABLES_PREFIX, Places, spark_applications
from infra.stages import settings_of, stage_from
from local.checkout import ROOT
from local.servers.kafka import KafkaBroker
from local.servers.localstack import LocalAws
from local.servers.ports import free_port
from local.servers.processes import ServerProcess
from local.spark.jobs import JobSettings, LocalLake, job_environment, spark_submit
from operations.endpoints import REGION
from tests.infra.engine_arguments import emr_arguments, glue_arguments
from tests.infra.host_jobs import jobs_of
from tests.infra.synthesis import Synthesized

pytestmark = [pytest.mark.spark, pytest.mark.kafka, pytest.mark.localstack]

WAIT_S = 300.0
ARRIVAL_MILLIS = 1_762_178_709_123
STREAM = "as-deployed"
FLOW = f"""
stream = "{STREAM}"
owner = "acme"
[[parsers]]
use = "json"
"""
OF_ENGINES = {
    engine: spark_applications(stage_from(stage, settings_of(stage)))
    for engine, stage in (("glue", "dev"), ("emr", "staging"))
}
APPLICATIONS = {one.name: one for one in OF_ENGINES["emr"]}
GLUES_OWN = [
    "--true",
    *("--job-bookmark-option", "job-bookmark-disable"),
    *("--JOB_ID", "j_0123456789abcdef"),
    *("--JOB_RUN_ID", "jr_0123456789abcdef"),
    *("--JOB_NAME", "fleetlane-dev-processing"),
    *("--job-language", "python"),
    *("--TempDir", "s3://aws-glue-assets/temporary/"),
    *("--SECURITY_CONFIGURATION", "fleetlane-dev-processing"),
    *("--encryption-type", "sse-kms"),
]
"""What Glue puts among a job's arguments; one of them stands alone."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Ground:
    """What stands locally for a stage, and how the jobs reach it."""

    places: Places
    environment: dict[str, str]

    def put_into(self, argv: Sequence[str]) -> list[str]:
        """A stage's arguments with places of this ground for the stage's own."""
        return [self._put_into(word) for word in argv]

    def _put_into(self, word: str) -> str:
        places = self.places
        references = {
            "ExportsOutputFnGetAttBootstrapServers": places.kafka_bootstrap_servers,
            "s3://ExportsOutputRefCheckpoints": places.checkpoint_folder,
            "ExportsOutputRefArtifacts": places.flows_bucket,
            "ExportsOutputRefPayloads": places.payload_bucket,
            "ExportsOutputRefParked": places.parked_bucket,
            "ExportsOutputRefLake": places.lake_bucket,
            "ExportsOutputRefSpool": places.spool_bucket,
            "s3://ExportsOutputRefLake": f"s3://{places.lake_bucket}/{LAKE_TABLES_PREFIX}",
            "ExportsOutputRefRegistry": places.registry_table,
        }
        quoted = word.split("'")
        for at, part in enumerate(quoted):
            for begin, place in references.items():
                if part.startswith(begin):
                    quoted[at] = place
        return "'".join(quoted).replace(
            f"--kafka_security {KafkaSecurity.IAM}", f"--kafka_security {places.kafka_security}"
        )


@pytest.fixture(scope="module")
def ground(
    kafka_broker: KafkaBroker, local_aws: LocalAws, tmp_path_factory: pytest.TempPathFactory
) -> Ground:
    aws = local_aws.client_settings
    buckets = {
        f"{kind}_bucket": f"deployed-{kind}"
        for kind in ("flows", "payload", "parked", "lake", "spool")
    }
    for bucket in buckets.values():
        local_aws.ensure_bucket(bucket)
    local_aws.ensure_table("deployed-devices")
    flow, servers = flow_from_toml(FLOW, file="test.toml"), kafka_broker.bootstrap_servers
    topics = KafkaTopics(bootstrap_servers=servers, partitions=2, replication=1)
    topics.create_missing(topics_of([flow]))
    store = FlowStore(boto3.client("s3", **aws), buckets["flows_bucket"])
    store.make_current(store.publish([flow]))
    user = {name: value for name, value in os.environ.items() if not name.startswith("AWS_")}  # noqa: TID251 - passed on
    environment = {
        **user,
        "AWS_ACCESS_KEY_ID": aws["aws_access_key_id"],
        "AWS_SECRET_ACCESS_KEY": aws["aws_secret_access_key"],
        "AWS_DEFAULT_REGION": aws["region_name"],
        "AWS_ENDPOINT_URL_S3": aws["endpoint_url"],
        "AWS_ENDPOINT_URL_DYNAMODB": aws["endpoint_url"],
        "AWS_ENDPOINT_URL_CLOUDWATCH": f"http://127.0.0.1:{free_port()}",
    }
    places = Places(
        kafka_bootstrap_servers=servers,
        checkpoint_folder=tmp_path_factory.mktemp("checkpoints").as_uri(),
        kafka_security=KafkaSecurity.PLAINTEXT,
        registry_table="deployed-devices",
        **buckets,
    )
    return Ground(places=places, environment=environment)


@pytest.fixture(scope="module")
def given(dev: Synthesized, staging: Synthesized) -> dict[str, list[list[str]]]:
    """The arguments of all applications as each engine gets them, with a stage's own places."""
    return {"glue": list(glue_arguments(dev)), "emr": list(emr_arguments(staging))}


@pytest.fixture
def land(ground: Ground) -> Callable[[Lane], str]:
    """Land a message in a lane's topic, and give its raw id."""
    producer = KafkaProducer(bootstrap_servers=ground.places.kafka_bootstrap_servers)

    def land(lane: Lane) -> str:
        message = Message(
            raw_id=random_raw_id(),
            device_id="d-17",
            stream=STREAM,
            arrival_millis=ARRIVAL_MILLIS,
            lane=lane,
            body=b'{"celsius": 21.5}',
            body_bytes=17,
        )
        record = ProducerRecord(
            topic=f"raw.{lane}",
            key=raw_key(ARRIVAL_MILLIS),
            value=message.body,
            headers=headers_of(message),
        )
        producer.land(record)
        return message.raw_id

    return land


@contextmanager
def submitted(
    ground: Ground, folder: Path, script: str, argv: Sequence[str]
) -> Iterator[ServerProcess]:
    """A job's file run by spark-submit, with these arguments and no others."""
    places = ground.places
    resources = StageResources(
        stage="deployed",
        region=REGION,
        api_url="",
        kafka_bootstrap_servers=places.kafka_bootstrap_servers,
        kafka_security=KafkaSecurity.PLAINTEXT,
        devices_table=places.registry_table,
        flows_bucket=places.flows_bucket,
        overrides_bucket=places.flows_bucket,
        payload_bucket=places.payload_bucket,
        parked_bucket=places.parked_bucket,
        lake_bucket=places.lake_bucket,
        flow_activation_function="",
    )
    settings = JobSettings(
        folder=folder,
        resources=resources,
        lake=LocalLake(folder / "lake"),
        environment=ground.environment,
    )
    process = ServerProcess(
        script,
        [*spark_submit(folder), str(ROOT / "glue_jobs" / script), *argv],
        log_path=folder / "spark.log",
        env=job_environment(settings, settings.folder),
        cwd=folder,
    )
    process.start()
    try:
        yield process
    finally:
        process.kill()


def told[R: Any](
    process: ServerProcess, ground: Ground, topic: str, read: Callable[[bytes], R], raw_id: str
) -> R:
    """Wait until a topic of the fleet has a message's row."""
    found: list[R] = []
    reader = KafkaReader(ground.places.kafka_bootstrap_servers, topics=[topic])

    def is_told() -> bool:
        for record in reader.read_available():
            with suppress(msgspec.DecodeError):  # of another test of this broker
                row = read(record.value or b"")
                found.extend([row] if row.id == raw_id else [])
        return bool(found)

    try:
        process.wait_ready(is_told, timeout_s=WAIT_S)
    finally:
        reader.close()
    return found[0]


def wait_for_log(process: ServerProcess, sentence: str) -> bool:
    deadline_s = time.monotonic() + WAIT_S
    while sentence not in process.log_path.read_text() and time.monotonic() < deadline_s:
        time.sleep(0.1)
    return sentence in process.log_path.read_text()


@pytest.mark.parametrize("engine", ["glue", "emr"])
def test_each_engine_gives_the_jobs_the_arguments_of_their_dataclasses(
    given: dict[str, list[list[str]]], ground: Ground, engine: str
) -> None:
    ours = [one.argv(ground.places) for one in OF_ENGINES[engine]]

    found = [ground.put_into(argv) for argv in given[engine]]

    assert [HostArguments.from_argv(argv).application for argv in found] == [
        f"fleetlane-{name}" for name in APPLICATIONS
    ]
    assert [jobs_of(argv) for argv in found] == [jobs_of(argv) for argv in ours]


@pytest.mark.parametrize(
    ("name", "engine"),
    [
        ("standard", "glue"),
        pytest.param("fast", "emr", marks=pytest.mark.full_length),
        pytest.param("slow", "glue", marks=pytest.mark.full_length),
    ],
)
def test_an_application_parses_as_its_engine_starts_it(
    given: dict[str, list[list[str]]],
    ground: Ground,
    land: Callable[[Lane], str],
    tmp_path: Path,
    name: str,
    engine: str,
) -> None:
    argv = ground.put_into(given[engine][list(APPLICATIONS).index(name)])
    lane = APPLICATIONS[name].lane
    assert lane is not None, "it parses"
    raw_id = land(lane)

    with submitted(ground, tmp_path, "host.py", [*GLUES_OWN, *argv]) as process:
        row = told(process, ground, FLEET_PARSED, parsed_from, raw_id)
        is_received = not APPLICATIONS[name].has_metadata or told(
            process, ground, FLEET_RECEIVED, received_from, raw_id
        )
        said_so = wait_for_log(process, f"metrics of lane {name} not published")

    assert (row.outcome, row.lane) == (Outcome.PARSED, lane)
    assert is_received
    assert said_so
