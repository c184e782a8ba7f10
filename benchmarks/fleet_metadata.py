"""How fast ``fleet_metadata`` is beside a copy by the JVM alone, from Kafka to Kafka.

Both read the same messages of 1 KB, with every header of an envelope, from one broker, in one
session, by the jobs' own source and sink; they take turns. What counts is messages a second while
batches run, the median of the rounds after the first, which is the warm-up. Writes
``metadata_to_copy`` and what it is made of into a JSON file, and leaves what else is there.
"""

import argparse
import sys
import tempfile
from collections import defaultdict
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from statistics import median
from typing import Final

import orjson
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F

from benchmarks.kept_numbers import write_numbers
from benchmarks.parse.jvm_copy import COPIES_TOPIC, PATTERN
from benchmarks.parse.workload import PARTITIONS, RAW_TOPIC, write_messages
from benchmarks.running.process_tree import tree_cpu_s
from benchmarks.running.session import java_pid, session_here
from clients.kafka.topics import KafkaTopics
from fleetlane.events.job_arguments import FleetMetadataArguments, KafkaSecurity
from fleetlane.events.topics import FLEET_RECEIVED
from glue_jobs.fleet_metadata.main import metadata_records
from glue_jobs.kafka.source_and_sink import QueryPlan, raw_records, written_to_kafka
from local.checkout import BROKER_JARS, ROOT
from local.servers.kafka import KafkaBroker

MESSAGES: Final = 300_000
ROUNDS: Final = 4
BATCH_MESSAGES: Final = 100_000
_BROKER_HEAP_MB: Final = 512


def main() -> None:
    arguments = argparse.ArgumentParser(description=__doc__)
    arguments.add_argument("--output", type=Path, default=ROOT / "build" / "bench" / "fleet.json")
    output: Path = arguments.parse_args().output
    with tempfile.TemporaryDirectory() as folder, _broker(Path(folder)) as servers:
        session = session_here("fleet_metadata", {"spark.local.dir": f"{folder}/scratch"})
        numbers = _measured(session, servers, Path(folder))
        session.stop()
    sys.stdout.write(write_numbers(output, numbers))


def _measured(session: SparkSession, servers: str, folder: Path) -> dict[str, float]:
    took = defaultdict[str, list[tuple[float, float]]](list)
    for number in range(ROUNDS):
        for name in ("copy", "metadata"):
            arguments = FleetMetadataArguments(
                kafka_bootstrap_servers=servers,
                kafka_security=KafkaSecurity.PLAINTEXT,
                checkpoint_folder=(folder / f"checkpoints-{number}").as_uri(),
                metadata_messages_per_batch_max=BATCH_MESSAGES,
            )
            records = _copies(session, arguments)
            if name == "metadata":
                records = metadata_records(session, arguments)
            took[name].append(_took(records, arguments, name))
    rate = {name: round(MESSAGES / median(s for s, _ in of[1:])) for name, of in took.items()}
    cpu = {name: median(cpu_s for _, cpu_s in of[1:]) / MESSAGES * 1e6 for name, of in took.items()}
    return {
        "metadata_to_copy": round(rate["metadata"] / rate["copy"], 3),
        "metadata_to_copy_cpu": round(cpu["copy"] / cpu["metadata"], 3),
        **{f"{name}_messages_per_s": rate[name] for name in took},
        **{f"{name}_cpu_s_per_million": round(cpu[name], 2) for name in took},
    }


def _took(records: DataFrame, arguments: FleetMetadataArguments, name: str) -> tuple[float, float]:
    """How long the batches of all messages take, and how much CPU; the broker apart."""
    trigger_ms = arguments.metadata_trigger_ms
    plan = QueryPlan(name=name, pattern=PATTERN, trigger_ms=trigger_ms)
    began_s = tree_cpu_s(java_pid(records.sparkSession))
    query = written_to_kafka(records, arguments, plan=plan)
    query.processAllAvailable()
    cpu_s = tree_cpu_s(java_pid(records.sparkSession)) - began_s
    batches = [orjson.loads(one.json) for one in query.recentProgress]
    query.stop()
    read = sum(one["numInputRows"] for one in batches)
    assert read == MESSAGES, f"{read} messages were read"
    millis = sum(one["durationMs"]["triggerExecution"] for one in batches if one["numInputRows"])
    return millis / 1_000, cpu_s


def _copies(session: SparkSession, arguments: FleetMetadataArguments) -> DataFrame:
    raw = raw_records(
        session,
        arguments,
        pattern=RAW_TOPIC.replace(".", r"\."),
        messages_per_batch_max=arguments.metadata_messages_per_batch_max,
    )
    return raw.select(F.lit(COPIES_TOPIC).alias("topic"), "key", "value", "headers")


@contextmanager
def _broker(folder: Path) -> Iterator[str]:
    broker = KafkaBroker(
        folder / "kafka", jars=BROKER_JARS, heap_mb=_BROKER_HEAP_MB, java_options=()
    )
    try:
        broker.start()
        servers = broker.bootstrap_servers
        topics = KafkaTopics(bootstrap_servers=servers, partitions=PARTITIONS, replication=1)
        topics.create_missing([RAW_TOPIC, COPIES_TOPIC, FLEET_RECEIVED])
        write_messages(servers, MESSAGES)
        yield servers
    finally:
        broker.stop()


if __name__ == "__main__":
    main()
