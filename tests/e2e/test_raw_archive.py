"""The raw topics are gone, and a stream's messages are landed again out of the raw archive."""

import json
import time
from collections.abc import Callable, Iterator
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

import orjson
import pytest
from confluent_kafka import TopicPartition
from confluent_kafka.admin import AdminClient
from typer.testing import CliRunner

import operations.platform
from clients.kafka.reader import KafkaReader
from clients.lake.laptop_lake import LakeMissingError
from clients.s3.payload_bucket import payload_key
from fleetlane.cli.main import app
from fleetlane.events.job_arguments import KafkaSecurity
from fleetlane.events.lake.tables import EVENTS, RAW, LakeTable
from fleetlane.events.lanes import INLINE_BYTES_MAX, Lane
from fleetlane.events.topic_patterns import raw_pattern
from local.data_folder import announced, taken_data_folder
from local.flow_activation import activation_here
from local.platform import Platform, PlatformSettings
from operations.endpoints import PAYLOAD_BUCKET
from operations.fleet.tables import table_of
from operations.lake import lake_of
from operations.lanes.status import KafkaPositions
from tests.e2e.devices import Device

pytestmark = [pytest.mark.spark, pytest.mark.kafka, pytest.mark.localstack]

STREAM: Final = "diagnostics"
SMALL: Final = 5
WITHIN_S_MAX: Final = 300.0
WHOLE: Final = ("--from", "1d", "--to", "2100-01-01T00:00:00Z")

type Rows = list[dict[str, Any]]


@dataclass(frozen=True, slots=True, kw_only=True)
class Replayed:
    """The lake's events before the topics were emptied, and after the replay; what it printed."""

    first: Rows
    left: int
    said: dict[str, Any]
    again: Rows


@pytest.fixture(scope="module")
def replayed(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Replayed]:
    folder = tmp_path_factory.mktemp("archive")
    with Platform(PlatformSettings(folder=folder / "platform")) as platform:
        platform.start(lambda _: None)
        seen = operations.platform.Platform.on_laptop(
            platform.endpoints, platform.settings.folder, activation_here
        )
        device = Device.registered(platform)
        receipts = [device.accepted(STREAM, body_of(number)) for number in range(SMALL + 1)]
        first = until(lambda: is_archived_too(seen, len(receipts)))
        large = receipts[-1].raw_id
        platform.s3.delete_object(Bucket=PAYLOAD_BUCKET, Key=payload_key(large))
        left = emptied(platform.endpoints.kafka)
        said = json.loads(fleetlane(platform, folder / "data"))
        again = until(lambda: is_of_revision(rows(seen, EVENTS), 1, len(receipts)))
        yield Replayed(first=first, left=left, said=said, again=again)


def test_the_raw_topics_are_empty_and_all_is_replayed(replayed: Replayed) -> None:
    assert replayed.left == 0
    assert (replayed.said["replayed"], replayed.said["expired"]) == (SMALL + 1, [])


def test_the_rows_are_equal_to_the_first_but_for_revision_and_when_they_came(
    replayed: Replayed,
) -> None:
    first, again = (
        [{**row, "revision": None, "lake_ms": None} for row in found]
        for found in (replayed.first, replayed.again)
    )

    assert again == first
    assert replayed.said["revisions"] == [1]


def body_of(number: int) -> bytes:
    """The last one is so large that it travels by reference."""
    filling = "x" * (INLINE_BYTES_MAX if number == SMALL else 10)
    return orjson.dumps({"boot_id": number, "entries": [{"n": number}], "filling": filling})


def rows(seen: operations.platform.Platform, table: LakeTable) -> Rows:
    try:
        with lake_of(seen) as catalog:
            scan = table_of(catalog, table).scan(row_filter=f"stream = '{STREAM}'")
            found = scan.to_arrow().to_pylist()
    except LakeMissingError:
        return []
    return sorted(found, key=lambda row: str(row["id"]))


def first_rows(seen: operations.platform.Platform, count: int) -> Rows | None:
    found, archived = rows(seen, EVENTS), rows(seen, RAW)
    return found if len(found) == count <= len(archived) else None


def is_archived_too(seen: operations.platform.Platform, count: int) -> Rows | None:
    """The events, once each message has one, and is in the raw archive."""
    found = is_of_revision(rows(seen, EVENTS), 0, count)
    return found if len(rows(seen, RAW)) >= count else None


def is_of_revision(found: Rows, revision: int, count: int) -> Rows | None:
    are_all = len(found) == count and all(row["revision"] == revision for row in found)
    return found if are_all else None


def emptied(servers: str) -> int:
    """Let all records of the raw topics expire; returns how many are left."""
    pattern = raw_pattern(*Lane)
    with closing(KafkaPositions(servers, KafkaSecurity.PLAINTEXT)) as positions:
        ends = positions.ends(positions.partitions(pattern))
    before = [TopicPartition(*partition, end) for partition, end in ends.items()]
    admin = AdminClient({"bootstrap.servers": servers})  # kept: else its results never come
    for deleted in admin.delete_records(before).values():
        deleted.result(timeout=30)
    with closing(KafkaReader(servers, pattern=pattern)) as reader:
        return sum(1 for _ in reader.read_once())


def fleetlane(platform: Platform, folder: Path) -> str:
    lake = folder / "lake"
    folder.mkdir(parents=True, exist_ok=True)
    lake.symlink_to(platform.settings.folder / "lake")
    words = ["replay", "--flow", STREAM, "--from", "archive", *WHOLE, "--json"]
    with taken_data_folder(folder), announced(platform.endpoints, folder):
        result = CliRunner().invoke(app, [*words, "--data", str(folder)])
    assert result.exit_code == 0, result.output
    return result.stdout


def until[T](found: Callable[[], T | None]) -> T:
    give_up_s = time.monotonic() + WITHIN_S_MAX
    while (value := found()) is None:
        assert time.monotonic() < give_up_s
        time.sleep(1.0)
    return value
