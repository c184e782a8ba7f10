"""What Lambda calls: for a device that asks, for a batch of notifications, and by the clock."""

import json
import random
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache, partial
from typing import Any, Final

from aws_lambda_powertools import Logger

from clients.aws import AwsSettings, s3_client
from clients.environment import read_settings
from clients.flows.store import CachedFlows, FlowStore, FlowsUnavailableError
from clients.kafka.producer import KafkaProducer
from clients.s3.payload_bucket import PayloadTooLargeError
from clients.s3.upload_bucket import UploadBucket, signed_form, signing_client
from fleetlane.events.envelope import Message
from fleetlane.events.errors import FleetlaneError, ProblemTag
from fleetlane.events.job_arguments import FLOWS_MAX_AGE_S, KafkaSecurity
from fleetlane.events.lanes import PAYLOAD_BYTES_MAX
from fleetlane.events.metrics import NO_FLOW_STREAM, FunctionMetric, Service
from fleetlane.events.times import now_ms
from lambdas.http import problems
from lambdas.http.dependencies import DeviceSettings, bound_devices, rate_limiter
from lambdas.http.embedded_metrics import AcceptedLine, MetricLine
from lambdas.uploads.landing import Landing
from lambdas.uploads.service import EXPIRES_S, Issuing
from lambdas.uploads.sweep import Sweep, SweepReport, failed_messages

logger = Logger(service="uploads")

_TAGS: Final[problems.Tags] = {
    **problems.OF_REQUESTS,
    PayloadTooLargeError: ProblemTag.TOO_LARGE,
    FlowsUnavailableError: ProblemTag.TRY_LATER,
}
_ISSUED: Final = MetricLine(Service.UPLOADS, FunctionMetric.ISSUED)
_REFUSED: Final = problems.refused_line(Service.UPLOADS)
_LANDED: Final = AcceptedLine(Service.UPLOADS)
_SWEPT: Final = MetricLine(Service.UPLOADS, FunctionMetric.SWEPT)
_OVERRIDES_UNAVAILABLE: Final = MetricLine(Service.UPLOADS, FunctionMetric.OVERRIDES_UNAVAILABLE)
_CREATED: Final = 201
_SWEEP_ENDS_MS: Final = 15_000
"""A sweep begins nothing more when so little of its time is left."""


@dataclass(frozen=True, slots=True, kw_only=True)
class IssuingSettings:
    """Where bodies go, and the largest that is taken."""

    devices: DeviceSettings
    payload_bucket: str
    upload_bytes_max: int = PAYLOAD_BYTES_MAX


@dataclass(frozen=True, slots=True, kw_only=True)
class LandingSettings:
    """Where bodies are, where messages go, and how old the sweep lets an upload grow first."""

    kafka_bootstrap_servers: str
    kafka_security: KafkaSecurity = KafkaSecurity.IAM
    payload_bucket: str
    flows_bucket: str
    flows_max_age_s: int = FLOWS_MAX_AGE_S
    sweep_after_s: int = 15 * 60


class SweepFoundFaultsError(FleetlaneError):
    """Uploads were found that do not land. All others have been seen to."""

    count: int
    first: str
    sentence = "{count} uploads cannot land; the first: {first}"


def handle(event: Mapping[str, Any], context: object) -> dict[str, Any]:
    """Answer ``POST /v1/uploads/{stream}``."""
    return answer(event, _issuing(), now_ms=now_ms())


def land(event: Mapping[str, Any], context: object) -> dict[str, Any]:
    """Land a batch from the queue; what failed stays there, and comes again."""
    failed = failed_messages(event["Records"], _land, on_failure=_not_landed)
    return {"batchItemFailures": [{"itemIdentifier": message_id} for message_id in failed]}


def sweep(event: object, context: Any) -> dict[str, Any]:
    """Land what was missed. An error says that something needs a look: its alarm counts errors."""
    after_s = read_settings(LandingSettings).sweep_after_s
    report = Sweep(uploads=_uploads(), land=_land, after_s=after_s).run(
        now_ms=now_ms(), may_go_on=lambda: context.get_remaining_time_in_millis() > _SWEEP_ENDS_MS
    )
    return reported(report)


def answer(event: Mapping[str, Any], issuing: Issuing, *, now_ms: int) -> dict[str, Any]:
    try:
        ticket = issuing.ticket(event, now_ms=now_ms)
    except Exception as error:  # noqa: BLE001 - the edge: whatever it is, a device is answered
        refused = problems.translated(
            error, _TAGS, jitter=random.randint, logger=logger, not_done="not issued"
        )
        _REFUSED.write(1, of=refused.tag, about=problems.Asker.of(event))
        return refused.answer()
    _ISSUED.write(1)
    return problems.answer(_CREATED, json.dumps(ticket))


def reported(report: SweepReport) -> dict[str, Any]:
    """What a sweep found, for its log and its metric; raises what somebody must look into."""
    _SWEPT.write(len(report.landed))
    if report.landed:
        logger.warning("uploads were missed", extra={"keys": report.landed[:20]})
    if report.outage is not None:
        raise report.outage
    if report.faults:
        raise SweepFoundFaultsError(len(report.faults), str(report.faults[0]))
    return {"looked_at": report.looked_at, "landed": len(report.landed)}


def _land(key: str) -> Message | None:
    landing = _landing()
    message = landing.land(key)
    if message is not None:
        has_flow = message.stream in landing.flows.current().by_stream
        _LANDED.write(
            1,
            message.body_bytes,
            lane=message.lane,
            stream=message.stream if has_flow else NO_FLOW_STREAM,
            arrival_millis=message.arrival_millis,
        )
    return message


def _not_landed(problem: FleetlaneError) -> None:
    logger.warning("not landed", extra={"reason": problem.reason, "problem": str(problem)})


@cache
def _issuing() -> Issuing:
    ours = read_settings(IssuingSettings)
    s3 = signing_client(AwsSettings())
    return Issuing(
        rate_limiter=rate_limiter(
            ours.devices,
            s3_client(AwsSettings()),
            logger=logger,
            unavailable_line=_OVERRIDES_UNAVAILABLE,
        ),
        devices=bound_devices(ours.devices.registry_table),
        flows=_flows(ours.devices.flows_bucket, ours.devices.flows_max_age_s),
        sign=partial(signed_form, s3, ours.payload_bucket, expires_s=EXPIRES_S),
        upload_bytes_max=ours.upload_bytes_max,
    )


@cache
def _landing() -> Landing:
    ours = read_settings(LandingSettings)
    producer = KafkaProducer(
        bootstrap_servers=ours.kafka_bootstrap_servers, security=ours.kafka_security
    )
    flows = _flows(ours.flows_bucket, ours.flows_max_age_s)
    return Landing(uploads=_uploads(), flows=flows, land_record=producer.land)


@cache
def _uploads() -> UploadBucket:
    return UploadBucket(s3_client(AwsSettings()), read_settings(LandingSettings).payload_bucket)


@cache
def _flows(bucket: str, max_age_s: int) -> CachedFlows:
    return CachedFlows(FlowStore(s3_client(AwsSettings()), bucket), max_age_s=max_age_s)
