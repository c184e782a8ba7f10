"""What ingest costs beside a handler that only produces the same bytes to Kafka and waits.

Both run in turn in one process on one core, with a real broker on another core, as it is on another
machine in AWS: on the same one it would throw both out of the caches at each request. CPU time is
that of the whole process, Kafka's client included. A ratio is the handler's CPU time a request over
the floor's: 1 would be free.

``parts_us`` is where its time goes, in a tight loop without Kafka and with it: what a wait
between two requests costs each part. By the clock, so what else runs on the core is in it.

``import_cpu_ms`` is a cold import of the handler, and of its parts, each in a process of its own,
from bytecode; ``import_from_source_cpu_ms`` that of the handler where there is none.
"""

import argparse
import contextlib
import json
import os
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any, Final

from benchmarks.edge_parts import parts_us
from benchmarks.edge_sides import (
    ACCEPTED,
    Handler,
    Recording,
    api_gateway_event,
    floor_handler,
    ingest_handler,
    kafka,
    record_of,
)
from clients.kafka.topics import KafkaTopics
from clients.kafka_or_spool import Producer
from fleetlane.events.topics import platform_topics
from local.checkout import BROKER_JARS, ROOT
from local.servers.kafka import KafkaBroker

ROUNDS: Final = 7
PART_REQUESTS: Final = 2_000
IMPORTS: Final = {
    "import_cpu_ms": "import lambdas.ingest.handler",
    "import_logger_cpu_ms": "import aws_lambda_powertools",
    "import_resolver_cpu_ms": "import aws_lambda_powertools.event_handler",
    "import_boto3_cpu_ms": "import boto3",
    "import_kafka_cpu_ms": "import confluent_kafka",
    "import_nothing_cpu_ms": "pass",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Case:
    """What is sent, how often in a round, and whether with an ``Idempotency-Key``.

    With a key the message's id depends on the body's SHA-256; without one nobody reads the body.
    """

    body_bytes: int
    requests: int
    has_key: bool = True


CASES: Final = {
    "1kb": Case(body_bytes=1_000, requests=400),
    "100kb": Case(body_bytes=100_000, requests=150),
    "1kb_without_key": Case(body_bytes=1_000, requests=400, has_key=False),
    "100kb_without_key": Case(body_bytes=100_000, requests=150, has_key=False),
}


@dataclass(slots=True)
class Round:
    """What a round of requests took. ``cpu_us`` is a request's share."""

    cpu_us: float = 0.0
    requests_per_s: float = 0.0
    waits_ms: list[float] = field(default_factory=list)


def main() -> None:
    arguments = argparse.ArgumentParser(description=__doc__)
    arguments.add_argument("--output", type=Path, default=ROOT / "build" / "bench" / "edge.json")
    output: Path = arguments.parse_args().output
    numbers = _imports_cpu_ms()
    ours, *others = sorted(os.sched_getaffinity(0))
    with (
        tempfile.TemporaryDirectory() as folder,
        _broker(Path(folder), others or [ours]) as servers,
    ):
        os.sched_setaffinity(0, {ours})
        for name, case in CASES.items():
            numbers |= _compared(name, case, servers)
        parts = {
            "tight_loop": _by_part(CASES["1kb"], Recording()),
            "with_kafka": _by_part(CASES["1kb"], kafka(servers)),
        }
    output.parent.mkdir(parents=True, exist_ok=True)
    output.write_text(json.dumps({**numbers, "parts_us": parts}, indent=2) + "\n")
    sys.stdout.write(output.read_text())


@contextlib.contextmanager
def _broker(folder: Path, cores: Collection[int]) -> Iterator[str]:
    """A broker on these cores: it has those that its starter has."""
    os.sched_setaffinity(0, cores)
    broker = KafkaBroker(folder, jars=BROKER_JARS, java_options=())
    broker.start()
    try:
        servers = broker.bootstrap_servers
        topics = KafkaTopics(bootstrap_servers=servers, partitions=2, replication=1)
        topics.create_missing(platform_topics())
        yield servers
    finally:
        broker.stop()


def _compared(size: str, case: Case, servers: str) -> dict[str, float]:
    """Run both sides in turn, and compare the median of the rounds."""
    event = api_gateway_event(os.urandom(case.body_bytes), has_key=case.has_key)
    sides = {
        "handler": ingest_handler(kafka(servers)),
        "floor": floor_handler(servers, record_of(event)),
    }
    for side in sides.values():
        _round(side, event, case.requests)  # connections, and what is done once
    rounds: dict[str, list[Round]] = {name: [] for name in sides}
    for _ in range(ROUNDS):
        for name, side in sides.items():
            rounds[name].append(_round(side, event, case.requests))
    numbers: dict[str, float] = {}
    ratios = [
        one.cpu_us / other.cpu_us
        for one, other in zip(rounds["handler"], rounds["floor"], strict=True)
    ]
    numbers[f"ratio_{size}"] = round(statistics.median(ratios), 3)
    for name, all_rounds in rounds.items():
        waits_ms = sorted(wait for one in all_rounds for wait in one.waits_ms)
        numbers |= {
            f"{size}_{name}_cpu_us": round(statistics.median(r.cpu_us for r in all_rounds), 1),
            f"{size}_{name}_requests_per_s": round(max(r.requests_per_s for r in all_rounds), 1),
            f"{size}_{name}_p50_ms": round(waits_ms[len(waits_ms) // 2], 2),
            f"{size}_{name}_p99_ms": round(waits_ms[len(waits_ms) * 99 // 100], 2),
        }
    return numbers


def _by_part(case: Case, producer: Producer) -> dict[str, float]:
    """Where the time of a request goes."""
    event = api_gateway_event(os.urandom(case.body_bytes), has_key=case.has_key)
    handler = ingest_handler(producer)
    _round(handler, event, case.requests)
    with _silent():
        return parts_us(partial(handler, event, None), PART_REQUESTS)


@contextlib.contextmanager
def _silent() -> Iterator[None]:
    """Lines of metrics are written, and go nowhere."""
    with Path(os.devnull).open("w", buffering=1) as nowhere, contextlib.redirect_stdout(nowhere):
        yield


def _round(handler: Handler, event: Mapping[str, Any], requests: int) -> Round:
    """One request after the other, as a Lambda function gets them."""
    result = Round()
    with _silent():
        cpu_s, began_s = time.process_time(), time.perf_counter()
        for _ in range(requests):
            at_s = time.perf_counter()
            answer = handler(event, None)
            if answer["statusCode"] != ACCEPTED:
                raise ConnectionError(f"not accepted, so there is nothing to measure: {answer}")
            result.waits_ms.append((time.perf_counter() - at_s) * 1e3)
        result.cpu_us = (time.process_time() - cpu_s) / requests * 1e6
        result.requests_per_s = requests / (time.perf_counter() - began_s)
    return result


def _imports_cpu_ms() -> dict[str, float]:
    with tempfile.TemporaryDirectory() as caches, tempfile.TemporaryDirectory() as nowhere:
        kept = {"PYTHONPYCACHEPREFIX": caches, "PYTHONDONTWRITEBYTECODE": ""}
        unkept = {"PYTHONPYCACHEPREFIX": nowhere, "PYTHONDONTWRITEBYTECODE": "1"}
        numbers = {name: _import_cpu_ms(code, kept) for name, code in IMPORTS.items()}
        numbers["import_from_source_cpu_ms"] = _import_cpu_ms(IMPORTS["import_cpu_ms"], unkept)
    return numbers


def _import_cpu_ms(code: str, caching: Mapping[str, str]) -> float:
    """CPU time of a process that imports and ends; the best of five."""
    script = (
        f"import time\nbegan_s = time.process_time()\n{code}\nprint(time.process_time() - began_s)"
    )
    times = [
        float(
            subprocess.run(  # noqa: S603 - our own command
                [sys.executable, "-c", script],
                capture_output=True,
                text=True,
                check=True,
                cwd=ROOT,
                env={**os.environ, **caching},  # noqa: TID251 - handed on as it is
            ).stdout
        )
        for _ in range(5)
    ]
    return round(min(times) * 1e3, 1)


if __name__ == "__main__":
    main()
