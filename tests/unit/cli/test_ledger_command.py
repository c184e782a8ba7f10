"""``fleetlane ledger`` against a ledger in a folder."""

import csv
import json
import time
from collections.abc import Callable, Iterator

import pytest
from moto import mock_aws
from pyiceberg.catalog.sql import SqlCatalog
from typer.testing import CliRunner, Result

from benchmarks.iceberg_tables import add_rows, folder_catalog
from fleetlane.cli.main import app
from fleetlane.events.lake.tables import LEDGER
from fleetlane.events.times import HOUR_MS, day_of, rfc3339
from local.demo.lake_tables import make_table
from tests.deployed_stage import STAGE, register_lake, use_region, write_stage

type Ask = Callable[..., Result]

NOW_MS = int(time.time() * 1000)
THIS_HOUR_MS = NOW_MS - NOW_MS % HOUR_MS
GONE = {"id": "1" + "ab" * 16, "sha256": None, "problem": "its record was deleted"}
COUNTS = (
    "landed", "parsed", "empty", "parked", "duplicate", "waiting", "missing", "not_landed"
)  # fmt: skip


def row(hours_ago: int, *, stream: str = "gps", **given: object) -> dict[str, object]:
    hour_ms = THIS_HOUR_MS - hours_ago * HOUR_MS
    return {
        "day": day_of(hour_ms),
        "hour_ms": hour_ms,
        "stream": stream,
        "lane": "standard",
        **dict.fromkeys(COUNTS, 0),
        "is_settled": hours_ago > 1,
        "checked_ms": NOW_MS,
        "missing_messages": [],
        **given,
    }


@pytest.fixture(scope="module")
def lake(tmp_path_factory: pytest.TempPathFactory) -> Iterator[SqlCatalog]:
    lake = folder_catalog(tmp_path_factory.mktemp("lake"))
    make_table(lake, LEDGER)
    rows = [
        row(2, accepted=3, landed=3, parsed=2, missing=1, missing_messages=[GONE]),
        row(1, stream="weather", landed=1, waiting=1),
        row(1, accepted=1, landed=1, parsed=1),
        row(50, landed=4, parsed=4),
    ]
    add_rows(lake, LEDGER, rows)
    yield lake
    lake.close()


@pytest.fixture
def ask(lake: SqlCatalog, monkeypatch: pytest.MonkeyPatch) -> Iterator[Ask]:
    use_region(monkeypatch)
    monkeypatch.setenv("COLUMNS", "160")
    with mock_aws():
        write_stage()
        register_lake(lake)
        yield lambda *more: CliRunner().invoke(app, ["ledger", *more, "--stage", STAGE])


def test_hours_come_newest_first_and_missing_messages_by_name(ask: Ask) -> None:
    told = json.loads(ask("--json").stdout)

    assert [(one["stream"], one["parsed"], one["accepted"]) for one in told["ledger"]] == [
        ("gps", 1, 1),
        ("weather", 0, None),
        ("gps", 2, 3),
    ]
    assert told["missing_messages"] == [
        {**GONE, "stream": "gps", "lane": "standard", "hour_ms": THIS_HOUR_MS - 2 * HOUR_MS}
    ]


def test_since_reaches_further_back_and_begins_with_the_hour_that_it_is_in(ask: Ask) -> None:
    [newest, *_] = hours = json.loads(ask("--json", "--since", "3d").stdout)["ledger"]
    since = rfc3339(THIS_HOUR_MS - HOUR_MS // 2)
    lately = list(csv.DictReader(ask("--csv", "--since", since).stdout.splitlines()))

    assert (len(hours), newest["hour_ms"]) == (4, THIS_HOUR_MS - HOUR_MS)
    assert [one["stream"] for one in lately] == ["gps", "weather"]


def test_a_person_sees_what_is_missing_and_why(ask: Ask) -> None:
    shown = ask().stdout

    assert str(GONE["id"]) in shown
    assert "its record was deleted" in shown
    assert "Ledger by hour of arrival" in shown


def test_a_stage_that_is_not_deployed_is_refused(ask: Ask) -> None:
    result = CliRunner().invoke(app, ["ledger", "--stage", "unknown"])

    assert result.exit_code == 1
