"""Upkeep of the lake's tables where one of them, or another writer, is in the way."""

from collections.abc import Callable, Sequence
from typing import Any, cast

import pytest
from pyspark.errors import PySparkException
from pyspark.sql import Row

from clients.s3.lease import Lease
from clients.s3.upkeep_requests import Upkeep
from fleetlane.events.job_arguments import KafkaSecurity, LakeArguments, LakeTables
from fleetlane.events.lake.tables import CATALOG, PARKED, REPEATS
from glue_jobs.lake.main import _upkeep
from glue_jobs.lake.upkeep import LeaseGuard, compacted
from tests.deployed_stage import use_region
from tests.lease_in_memory import LeaseInMemory

ANSWER = Row(rewritten_data_files_count=4, added_data_files_count=1, deleted_data_files_count=0)
ARGUMENTS = LakeArguments(
    kafka_bootstrap_servers="127.0.0.1:9",
    checkpoint_folder="build/nowhere",
    kafka_security=KafkaSecurity.PLAINTEXT,
    tables=LakeTables.EVENTS,
    lake_warehouse="build/nowhere",
    lake_bucket="lake",
    payload_bucket="payloads",
    flows_bucket="artifacts",
)


class Frame:
    """What a session gives of any table and for any statement: these rows."""

    def __init__(self, *rows: Row) -> None:
        self._rows = rows

    def where(self, _: str) -> "Frame":
        return self

    def select(self, _: str) -> "Frame":
        return self

    def collect(self) -> Sequence[Row]:
        return self._rows


class Session:
    """A session of Spark without one. ``before`` sees each statement, and may raise."""

    def __init__(self, before: Callable[[str], None]) -> None:
        self.conf = {f"spark.sql.catalog.{CATALOG}.database": "fleetlane"}
        self._before = before

    def table(self, _: str) -> Frame:
        return Frame()

    def sql(self, text: str) -> Frame:
        self._before(text)
        return Frame(ANSWER)


class Batches:
    """Counts how often the tables' commits were forgotten."""

    def __init__(self) -> None:
        self.forgotten = 0

    def read_again(self) -> None:
        self.forgotten += 1


class OtherWriter:
    """Commits before the first statement that calls ``procedure``."""

    def __init__(self, procedure: str) -> None:
        self._procedure, self.calls = procedure, 0

    def __call__(self, text: str) -> None:
        if self._procedure in text:
            self.calls += 1
            if self.calls == 1:
                raise PySparkException("org.apache.iceberg.exceptions.ValidationException: gone")


def test_manifests_are_rewritten_again_where_another_committed_meanwhile() -> None:
    other = OtherWriter("rewrite_manifests")

    compacted(cast("Any", Session(other)), REPEATS)

    assert other.calls == 2


def test_what_is_known_of_commits_is_forgotten_though_a_later_table_fails(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def failing(text: str) -> None:
        if PARKED.name in text:
            raise OSError("no space left")

    use_region(monkeypatch)
    batches, session = cast("Any", Batches()), cast("Any", Session(failing))
    guard = LeaseGuard(Lease(LeaseInMemory(), holder="a", lease_s=60), prepare=lambda: None)
    upkeep = _upkeep(session, ARGUMENTS, guard, batches, cast("Any", None))

    with pytest.raises(OSError, match="no space left"):
        upkeep.works[Upkeep.EXPIRE]()

    assert batches.forgotten == 1
