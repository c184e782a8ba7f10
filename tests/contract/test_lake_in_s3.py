"""A lake in S3, LocalStack's, read by DuckDB: its rows are those that were written."""

from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from pathlib import Path

import pytest
from pyiceberg.catalog.sql import SqlCatalog
from pyiceberg.io import load_file_io

from fleetlane.events.lake.tables import CATALOG, NAMESPACE
from local.servers.localstack import LocalAws
from operations.endpoints import REGION
from operations.fleet import devices, traffic
from operations.fleet.fleet import Fleet
from operations.fleet.tables import LakeFiles
from tests import slow_answers
from tests.known_fleet import ASKED_AT_MS, KnownFleet, known_fleet, tables_of

pytestmark = pytest.mark.localstack

BUCKET = "lake-in-s3"


@pytest.fixture(scope="module")
def known() -> KnownFleet:
    return known_fleet(seed=3, devices=50, messages=1_500)


@pytest.fixture(scope="module")
def catalog(
    known: KnownFleet, local_aws: LocalAws, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[SqlCatalog]:
    local_aws.ensure_bucket(BUCKET)
    catalog = SqlCatalog(
        CATALOG,
        uri=f"sqlite:///{tmp_path_factory.mktemp('catalog')}/catalog.db",
        warehouse=f"s3://{BUCKET}/it's a lake",
        **{
            "s3.endpoint": local_aws.endpoint_url,
            "s3.region": REGION,
            "s3.access-key-id": "test",
            "s3.secret-access-key": "test",
        },
    )
    with closing(catalog):
        catalog.create_namespace(NAMESPACE)
        tables_of(known, catalog)
        yield catalog


def test_answers_are_those_of_the_truth(catalog: SqlCatalog, known: KnownFleet) -> None:
    with Fleet(catalog, known.devices, asked_at_ms=ASKED_AT_MS) as fleet:
        days = devices.COVERAGE_DAYS
        assert devices.coverage(fleet).rows == [slow_answers.coverage(known, one) for one in days]
        assert fleet.ask(traffic.SIZES, days=7).rows == [slow_answers.sizes(known, 7)]


def test_threads_that_read_one_file_at_once_have_each_its_own_place(
    catalog: SqlCatalog, known: KnownFleet, tmp_path: Path
) -> None:
    data = bytes(range(256)) * 400
    path = f"s3://{BUCKET}/{tmp_path.name}"
    with load_file_io(catalog.properties).new_output(path).create() as file:
        file.write(data)
    reading = LakeFiles(catalog).open(path)

    def part(offset: int) -> bytes:
        reading.seek(offset)
        return reading.read(100) + reading.read(10)

    offsets = range(0, len(data) - 110, 997)
    with ThreadPoolExecutor(8) as threads:
        assert list(threads.map(part, offsets)) == [data[at : at + 110] for at in offsets]
