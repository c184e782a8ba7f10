"""What is called each minute, one call at a time, to bring what was spooled to Kafka."""

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from itertools import islice
from typing import Any, Final

from aws_lambda_powertools import Logger

from clients.aws import AwsSettings, s3_client
from clients.environment import read_settings
from clients.kafka.producer import KafkaProducer
from clients.s3.spool import Spool
from fleetlane.events.job_arguments import KafkaSecurity
from fleetlane.events.metrics import FunctionMetric, Service
from fleetlane.events.times import now_ms
from lambdas.http.embedded_metrics import MetricLine
from lambdas.respool.run import Report
from lambdas.respool.service import Respool

_CONFIRMED_WITHIN_S: Final = 5.0
"""Longer than ingest waits: a Kafka that is slow is to be caught up with all the same."""
_SHOWN_MAX: Final = 20
_RUN: Final = MetricLine(
    Service.RESPOOL, FunctionMetric.RESPOOLED_RECORDS, FunctionMetric.UNREADABLE_SPOOLED
)
_OLDEST: Final = MetricLine(Service.RESPOOL, FunctionMetric.OLDEST_SPOOLED_SECONDS)

logger = Logger(service="respool")


@dataclass(frozen=True, slots=True, kw_only=True)
class Settings:
    """From where to where."""

    kafka_bootstrap_servers: str
    kafka_security: KafkaSecurity = KafkaSecurity.IAM
    spool_bucket: str


def handle(event: Mapping[str, Any], context: object) -> dict[str, Any]:
    """Make one run; whatever calls, it does the same."""
    report = _respool().run()
    numbers = numbers_of(report, now_ms=now_ms())
    for unreadable in report.unreadable:
        logger.error("unreadable", extra={"problem": str(unreadable)})
    for key, why in islice(report.stuck.items(), _SHOWN_MAX):
        logger.error("stuck", extra={"key": key, "problem": why})
    if report.problem is not None:
        logger.warning("not done", extra={"problem": report.problem, **numbers})
    elif any(numbers.values()):
        logger.info("done", extra=numbers)
    count_run(numbers)
    return numbers


def numbers_of(report: Report, *, now_ms: int) -> dict[str, int]:
    """What a run is measured by.

    ``oldest_s`` is the age of what is left, 0 if nothing is; it is absent if nobody can tell.
    """
    numbers = {
        "objects": report.objects,
        "records": report.records,
        "refused": report.refused,
        "stuck": len(report.stuck),
        "unreadable": len(report.unreadable),
    }
    if report.oldest_since_ms is not None:
        numbers["oldest_s"] = max(0, now_ms - report.oldest_since_ms) // 1000
    elif report.problem is None:
        numbers["oldest_s"] = 0
    return numbers


def count_run(numbers: Mapping[str, int]) -> None:
    """Write each run's numbers, zeros too: silence is an alarm."""
    _RUN.write(numbers["records"], numbers["unreadable"])
    if "oldest_s" in numbers:
        _OLDEST.write(numbers["oldest_s"])


@cache
def _respool() -> Respool:
    ours = read_settings(Settings)
    return Respool(
        spool=Spool(s3_client(AwsSettings()), ours.spool_bucket),
        producer=KafkaProducer(
            bootstrap_servers=ours.kafka_bootstrap_servers,
            security=ours.kafka_security,
            delivery_timeout_s=_CONFIRMED_WITHIN_S,
        ),
    )
