"""Bodies that go straight to S3 come to their one end, whatever is lost or done twice between."""

import time
from random import Random
from typing import Final

import pytest

from clients.aws import AwsSettings, s3_client
from clients.flows.store import FlowStore
from clients.kafka.producer import KafkaProducer
from clients.s3.upload_bucket import UploadBucket
from lambdas.uploads.landing import Landing
from local.platform import Platform
from local.simulator import bodies
from operations.endpoints import FLOWS_BUCKET, PAYLOAD_BUCKET, REGION
from tests.e2e.conftest import RunningPlatform
from tests.e2e.devices import Device
from tests.e2e.faults import frozen
from tests.e2e.stored import header, record_of
from tests.e2e.uploading import accepted_by, form_for, without_notifications

pytestmark = [pytest.mark.spark, pytest.mark.kafka, pytest.mark.localstack]

ENTRIES: Final = 96
LOGGED_WITHIN_S_MAX: Final = 60.0


@pytest.fixture(scope="module")
def body() -> bytes:
    """About 6 MiB: more than the API takes."""
    return bodies.core_dump(Random(1), time.time_ns() // 1_000_000, ENTRIES)  # noqa: S311 - a test


def test_an_upload_is_parsed_in_the_bulk_lane(running: RunningPlatform, body: bytes) -> None:
    device = Device.registered(running.platform)

    receipt = accepted_by(form_for(device, "diagnostics", body), body, events=ENTRIES)

    ledger = running.ledger_on([receipt])
    landed = record_of(running.platform, "raw.bulk.large", receipt.raw_id)
    assert (ledger.parsed, ledger.lost, header(landed, "ce_bodybytes")) == (
        1,
        0,
        str(len(body)).encode(),
    )


def test_a_form_that_is_used_twice_gives_one_message(running: RunningPlatform, body: bytes) -> None:
    device = Device.registered(running.platform)
    form = form_for(device, "diagnostics", body)

    receipts = [accepted_by(form, body, events=ENTRIES) for _ in range(2)]

    ledger = running.ledger_on(receipts)
    assert (ledger.accepted, ledger.parsed, ledger.duplicate, ledger.lost) == (2, 1, 1, 0)


@pytest.mark.faults
def test_an_upload_whose_notification_is_lost_is_found_by_the_sweep(
    running: RunningPlatform, body: bytes
) -> None:
    device = Device.registered(running.platform)

    with without_notifications(running.platform):
        receipt = accepted_by(form_for(device, "diagnostics", body), body, events=ENTRIES)

    ledger = running.ledger_on([receipt])
    assert (ledger.parsed, ledger.lost, ledger.invented) == (1, 0, 0)


@pytest.mark.faults
def test_an_upload_waits_in_its_queue_while_kafka_is_unavailable(
    running: RunningPlatform, body: bytes
) -> None:
    device, tried = Device.registered(running.platform), GatewayLog(running.platform)

    with frozen(running.platform.broker):
        receipt = accepted_by(form_for(device, "diagnostics", body), body, events=ENTRIES)
        tried.wait_for("not_durable")

    ledger = running.ledger_on([receipt])
    findings = list(ledger.findings.lines())
    found = (ledger.parsed, ledger.lost, ledger.invented, findings)
    assert found == (1, 0, 0, []), tried.written()


@pytest.mark.faults
def test_an_upload_that_is_landed_twice_at_once_is_one_message(
    running: RunningPlatform, body: bytes, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As where a notification and the sweep race: neither sees the other's mark."""
    device = Device.registered(running.platform)
    form = form_for(device, "diagnostics", body)
    receipt = accepted_by(form, body, events=ENTRIES)
    record_of(running.platform, "raw.bulk.large", receipt.raw_id)

    blind_landing(running.platform, monkeypatch).land(key_in(form))

    ledger = running.ledger_on([receipt])
    assert (ledger.accepted, ledger.parsed, ledger.lost, ledger.invented) == (1, 1, 0, 0)
    assert ledger.findings.repeats > 0


class GatewayLog:
    """What the functions log from now on."""

    def __init__(self, platform: Platform) -> None:
        self._path = platform.settings.folder / "gateway" / "gateway.log"
        self._begin = len(self._path.read_text())

    def wait_for(self, words: str) -> None:
        give_up_s = time.monotonic() + LOGGED_WITHIN_S_MAX
        while words not in self.written():
            assert time.monotonic() < give_up_s, f"nobody logs {words!r}"
            time.sleep(0.1)

    def written(self) -> str:
        return self._path.read_text()[self._begin :]


class BlindUploads(UploadBucket):
    """Sees no marks."""

    def is_landed(self, key: str) -> bool:
        return False


def blind_landing(platform: Platform, monkeypatch: pytest.MonkeyPatch) -> Landing:
    monkeypatch.setenv("AWS_ACCESS_KEY_ID", "test")
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", "test")
    s3 = s3_client(AwsSettings(endpoint_url=platform.endpoints.s3, region_name=REGION))
    return Landing(
        uploads=BlindUploads(s3, PAYLOAD_BUCKET),
        flows=FlowStore(s3, FLOWS_BUCKET),
        land_record=KafkaProducer(bootstrap_servers=platform.endpoints.kafka).land,
    )


def key_in(form: dict[str, object]) -> str:
    fields = form["fields"]
    assert isinstance(fields, dict)
    return str(fields["key"])
