"""What the ledger reads of the lake, through real Iceberg tables."""

from collections.abc import Iterator
from contextlib import closing
from datetime import UTC, datetime
from hashlib import sha256
from pathlib import Path

import pytest
from pyiceberg.catalog.sql import SqlCatalog

from benchmarks.iceberg_tables import add_rows, folder_catalog
from fleetlane.events.lake.tables import EVENTS, PARKED
from local.demo.lake_tables import make_table
from operations.ledger.message_results import LakeEvidence
from tests.unit.operations.kafka_records import ARRIVAL_MILLIS, BODY, OTHER_ID, RAW_ID, SHA256

DAY = datetime.fromtimestamp(ARRIVAL_MILLIS / 1_000, UTC).date()
OTHER_SHA256 = sha256(b"other").hexdigest()


@pytest.fixture
def catalog(tmp_path: Path) -> Iterator[SqlCatalog]:
    with closing(folder_catalog(tmp_path)) as catalog:
        make_table(catalog, EVENTS)
        make_table(catalog, PARKED)
        yield catalog


def event_row(event_id: str) -> dict[str, object]:
    return {
        "stream": "thermo",
        "day": DAY,
        "id": event_id,
        "raw_id": RAW_ID,
        "device_id": "d-17",
        "arrival_ms": ARRIVAL_MILLIS,
        "time_quality": "missing",
        "parser": "acme-thermo@1.2.0",
        "revision": 0,
        "data": "{}",
    }


def parked_row(raw_id: str | None, key: str, **more: object) -> dict[str, object]:
    return {
        "day": DAY,
        "key": key,
        "reason": "malformed",
        "detail": "",
        "parked_from": "raw.standard/0/0",
        "parked_ms": ARRIVAL_MILLIS,
        "source_partition": 0,
        "source_offset": 0,
        "headers": [],
        "id": raw_id,
        **more,
    }


def test_events_are_known_by_their_ids(catalog: SqlCatalog) -> None:
    add_rows(catalog, EVENTS, [event_row(f"{RAW_ID}-0"), event_row(f"{RAW_ID}-1")])

    lake = LakeEvidence.read(catalog)

    assert lake.event_ids == {f"{RAW_ID}-0", f"{RAW_ID}-1"}


def test_parked_messages_are_known_by_id_and_digest(catalog: SqlCatalog) -> None:
    by_reference = [{"key": "ce_datasha256", "value": OTHER_SHA256.encode()}]
    add_rows(
        catalog,
        PARKED,
        [
            parked_row(RAW_ID, "a", body=BODY),
            parked_row(OTHER_ID, "b", headers=by_reference),
            parked_row(None, "no message", body=b"?"),
        ],
    )

    lake = LakeEvidence.read(catalog)

    assert lake.parked == {(RAW_ID, SHA256), (OTHER_ID, OTHER_SHA256)}
