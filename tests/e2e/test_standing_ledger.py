"""A message that is deleted before its lane reads it is named by the standing ledger."""

import time
from collections.abc import Callable, Iterator
from contextlib import closing, suppress
from copy import replace
from dataclasses import dataclass
from pathlib import Path
from typing import Final

import orjson
import pytest
from confluent_kafka import TopicPartition
from confluent_kafka.admin import AdminClient

import operations.platform
from clients.kafka.reader import KafkaReader
from clients.lake.laptop_lake import LakeMissingError
from fleetlane.events.lanes import INLINE_BYTES_MAX, Lane
from fleetlane.events.metadata import AlertKind, received_from
from fleetlane.events.topic_patterns import raw_pattern
from fleetlane.events.topics import FLEET_ALERTS, FLEET_RECEIVED
from local.flow_activation import activation_here
from local.platform import Platform, PlatformSettings
from local.spark.jobs import Application, JobSettings
from operations.lake import lake_of
from operations.ledger.message_results import Receipt
from operations.ledger.standing import StandingLedger, standing_ledger
from tests.e2e.devices import Device

pytestmark = [pytest.mark.spark, pytest.mark.kafka, pytest.mark.localstack]

POSITION: Final = orjson.dumps({"at": "2026-11-03T14:05:00Z", "lat": 47.37, "lon": 8.54})
LARGE: Final = orjson.dumps({"boot_id": "b", "entries": [{"x": "x" * INLINE_BYTES_MAX}]})
WITHIN_S: Final = 540
"""Of the ten minutes that there are; triggers are short here, and a machine may be busy."""


class WithoutBulkLane(Platform):
    """The platform, but that nothing reads what is only large, late, quarantined or replayed."""

    def _job_settings(self) -> JobSettings:
        settings = super()._job_settings()
        jobs = settings.jobs[Application.LANES].split("; ")
        others = "; ".join(job for job in jobs if f"--lane {Lane.BULK}" not in job)
        return replace(settings, jobs={**settings.jobs, Application.LANES: others})


@dataclass(frozen=True, slots=True, kw_only=True)
class Deleted:
    """The message that was deleted unread, another, and what the ledger says of both."""

    deleted: Receipt
    parsed: Receipt
    ledger: StandingLedger
    alerted: frozenset[str]


@pytest.fixture(scope="module")
def deleted(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Deleted]:
    folder = tmp_path_factory.mktemp("ledger")
    with WithoutBulkLane(PlatformSettings(folder=folder)) as platform:
        platform.start(lambda _: None)
        device = Device.registered(platform)
        parsed, unread = device.accepted("gps", POSITION), device.accepted("diagnostics", LARGE)
        until(lambda: unread.raw_id in received(platform))
        delete_records(platform)
        until(
            lambda: any(one["id"] == unread.raw_id for one in ledger_of(platform, folder).missing)
        )
        until(lambda: sum(one["parsed"] for one in ledger_of(platform, folder).hours) == 1)
        until(lambda: unread.raw_id in alerted(platform))
        yield Deleted(
            deleted=unread,
            parsed=parsed,
            ledger=ledger_of(platform, folder),
            alerted=alerted(platform),
        )


def test_the_deleted_message_is_missing_and_named(deleted: Deleted) -> None:
    assert [(one["id"], one["problem"]) for one in deleted.ledger.missing] == [
        (deleted.deleted.raw_id, "its record was deleted before its lane read it")
    ]


def test_it_is_reported_and_nothing_else_is(deleted: Deleted) -> None:
    assert deleted.alerted == {deleted.deleted.raw_id}


def test_what_ingest_counted_is_in_the_balance(deleted: Deleted) -> None:
    counted = {
        one["stream"]: (one["lane"], one["accepted"], one["parsed"], one["missing"])
        for one in deleted.ledger.hours
    }

    assert counted["diagnostics"] == (Lane.BULK, 1, 0, 1)
    assert counted["gps"] == (Lane.STANDARD, 1, 1, 0)


def until(is_so: Callable[[], bool]) -> None:
    give_up_s = time.monotonic() + WITHIN_S
    while not is_so():
        assert time.monotonic() < give_up_s, "nothing came of it"
        time.sleep(1)


def received(platform: Platform) -> set[str]:
    with closing(KafkaReader(platform.endpoints.kafka, topics=[FLEET_RECEIVED])) as reader:
        return {received_from(record.value or b"").id for record in reader.read_once()}


def alerted(platform: Platform) -> frozenset[str]:
    with closing(KafkaReader(platform.endpoints.kafka, topics=[FLEET_ALERTS])) as reader:
        alerts = [orjson.loads(record.value or b"") for record in reader.read_once()]
    missing = (one for one in alerts if one["kind"] == AlertKind.MESSAGE_MISSING)
    return frozenset(one["raw_id"] for one in missing)


def delete_records(platform: Platform) -> None:
    """Delete all that is in the bulk lane's topics."""
    servers = platform.endpoints.kafka
    with closing(KafkaReader(servers, pattern=raw_pattern(Lane.BULK))) as reader:
        topics = {record.topic for record in reader.read_once()}
        partitions = [one for one in reader.all_partitions() if one[0] in topics]
        ends = reader.ends(partitions)
    admin = AdminClient({"bootstrap.servers": servers})
    asked = [TopicPartition(*one, end) for one, end in ends.items()]
    for done in admin.delete_records(asked).values():
        done.result()


def ledger_of(platform: Platform, folder: Path) -> StandingLedger:
    seen = operations.platform.Platform.on_laptop(platform.endpoints, folder, activation_here)
    with suppress(LakeMissingError), lake_of(seen) as catalog:
        return standing_ledger(catalog, since_ms=0)
    return StandingLedger(hours=(), missing=())
