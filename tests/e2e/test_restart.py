"""Every part may be stopped and started again: its data and its addresses stay."""

from collections import Counter
from collections.abc import Callable, Mapping
from contextlib import closing
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Final

import httpx
import orjson
import pytest
from botocore.exceptions import BotoCoreError, ClientError

from clients.devices.registry import RegisteredDevice
from clients.kafka.reader import KafkaReader, KafkaUnreadableError
from fleetlane.events.lanes import INLINE_BYTES_MAX
from local.platform import Platform
from local.spark.home import CLASS_ARCHIVE
from local.spark.jobs import Application
from operations.endpoints import PARKED_BUCKET, PAYLOAD_BUCKET
from operations.ledger.evidence import LEDGER_TOPICS
from operations.ledger.message_results import Receipt
from tests.e2e.conftest import RunningPlatform
from tests.e2e.devices import Device
from tests.e2e.faults import stopped_and_back
from tests.e2e.stored import object_keys, record_of
from tests.e2e.victims import PARTS
from tests.unit.parsers.sandbox.machine import descendants_of

pytestmark = [pytest.mark.spark, pytest.mark.kafka, pytest.mark.localstack]

POSITION: Final = orjson.dumps({"at": "2026-11-03T14:05:00Z", "lat": 47.37, "lon": 8.54})
DUMP: Final = orjson.dumps(
    {"boot_id": "b", "entries": [{"at_ms": 1}, {"x": "x" * INLINE_BYTES_MAX}]}
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Kept:
    """What of a platform must outlive its parts."""

    addresses: tuple[str, ...]
    registration: RegisteredDevice | None
    payloads: frozenset[str]
    parked_payloads: frozenset[str]
    records: Counter[str]


@dataclass(frozen=True, slots=True, kw_only=True)
class Restart:
    """A restart of every part: what was there before, and who sent what."""

    device: Device
    receipts: tuple[Receipt, ...]
    before: Kept
    after: Kept


@pytest.fixture(scope="module")
def restart(running: RunningPlatform) -> Restart:
    """All parts, one after the other, once a few messages have come to their ends."""
    platform = running.platform
    device = Device.registered(platform)
    receipts = (
        device.accepted("gps", POSITION),
        device.accepted("diagnostics", DUMP),
        device.accepted("diagnostics", DUMP[:-1]),
    )
    assert running.ledger_on(receipts).lost == 0
    before = kept(platform, device)
    for name, answers in ANSWERS.items():
        stopped_and_back(PARTS[name](platform), answers=partial(answers, platform))
    return Restart(device=device, receipts=receipts, before=before, after=kept(platform, device))


def test_every_part_comes_back_on_its_address(restart: Restart) -> None:
    assert restart.after.addresses == restart.before.addresses


def test_devices_stay_registered(restart: Restart) -> None:
    assert restart.after.registration == restart.before.registration


def test_payloads_stay(restart: Restart) -> None:
    assert restart.before.payloads
    assert restart.after.payloads == restart.before.payloads


def test_parked_payloads_stay(restart: Restart) -> None:
    assert restart.before.parked_payloads
    assert restart.after.parked_payloads == restart.before.parked_payloads


def test_every_topic_has_the_records_that_it_had(restart: Restart) -> None:
    assert restart.before.records <= restart.after.records


def test_what_was_sent_before_is_accounted_for(running: RunningPlatform, restart: Restart) -> None:
    ledger = running.ledger_on(restart.receipts)

    assert (ledger.accepted, ledger.parsed, ledger.parked, ledger.lost) == (3, 2, 1, 0)


def test_what_is_sent_afterwards_is_parsed(running: RunningPlatform, restart: Restart) -> None:
    receipt = restart.device.accepted("gps", POSITION)

    record = record_of(running.platform, "canonical.gps", receipt.raw_id)
    assert orjson.loads(record.value or b"")["data"] == orjson.loads(POSITION)


def test_an_application_s_jvm_has_the_classes_that_were_archived(running: RunningPlatform) -> None:
    driver = running.platform.jobs[Application.LANES].pid
    assert driver is not None
    maps = [Path(f"/proc/{pid}/maps").read_text() for pid in (driver, *descendants_of(driver))]

    assert str(CLASS_ARCHIVE.resolve()) in "".join(maps)


def test_what_a_killed_jvm_left_is_gone_once_the_jobs_are_back(running: RunningPlatform) -> None:
    folder = running.platform.settings.folder / "jobs" / Application.LANES
    left = folder / "scratch" / "blockmgr-of-one-that-was-killed"
    left.mkdir()

    stopped_and_back(running.platform.jobs[Application.LANES], answers=lambda: True)

    assert not left.exists()


def kept(platform: Platform, device: Device) -> Kept:
    return Kept(
        addresses=(
            platform.broker.bootstrap_servers,
            platform.aws.endpoint_url,
            platform.gateway.url,
        ),
        registration=platform.registry.find(device.device_id),
        payloads=object_keys(platform.s3, PAYLOAD_BUCKET),
        parked_payloads=object_keys(platform.s3, PARKED_BUCKET),
        records=records_by_topic(platform),
    )


def records_by_topic(platform: Platform) -> Counter[str]:
    counts: Counter[str] = Counter()
    with closing(KafkaReader(platform.endpoints.kafka, pattern=LEDGER_TOPICS)) as reader:
        while records := reader.read_available():
            counts.update(record.topic for record in records)
    return counts


def broker_answers(platform: Platform) -> bool:
    try:
        with closing(KafkaReader(platform.endpoints.kafka)) as reader:
            return bool(reader.all_partitions())
    except KafkaUnreadableError:
        return False


def aws_answers(platform: Platform) -> bool:
    try:
        return bool(platform.s3.list_buckets()["Buckets"])
    except (BotoCoreError, ClientError):
        return False


def gateway_answers(platform: Platform) -> bool:
    try:
        return httpx.get(f"{platform.endpoints.api}/v1/health", trust_env=False).is_success
    except httpx.HTTPError:
        return False


def jobs_answer(_: Platform) -> bool:
    """They have no address; what is parsed afterwards tells."""
    return True


ANSWERS: Final[Mapping[str, Callable[[Platform], bool]]] = {
    "broker": broker_answers,
    "local aws": aws_answers,
    "gateway": gateway_answers,
    "driver": jobs_answer,
}
