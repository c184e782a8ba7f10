"""``fleetlane lake view`` and ``lake rows`` against flows in moto's S3, and a lake in a folder."""

import csv
import json
import time
from collections.abc import Callable, Iterator
from copy import replace

import pytest
from pyiceberg.catalog.sql import SqlCatalog
from typer.testing import CliRunner, Result

from benchmarks.iceberg_tables import add_rows, folder_catalog
from clients.flows.store import FlowStore
from fleetlane.cli.main import app
from fleetlane.events.flows.files import flow_from_toml
from fleetlane.events.lake.tables import EVENTS, PARKED, PARSED, RECEIVED, REPEATS
from fleetlane.events.times import DAY_MS, day_of
from local.demo.lake_tables import make_table
from tests.contract.aws_in_process import buckets
from tests.deployed_stage import STAGE, register_lake, use_region, write_stage

type Ask = Callable[..., Result]

BUCKET = "stage-flows"
ARRIVAL_MS = 1_793_714_709_123
SCHEMA: dict[str, object] = {
    "type": "object",
    "properties": {"celsius": {"type": "number"}, "note": {"type": "string"}},
}


def flow(stream: str) -> str:
    return f'stream = "{stream}"\nowner = "acme"\n[[parsers]]\nuse = "json"\n'


def row(at: int, data: str, *, stream: str = "thermo", days_ago: int = 0) -> dict[str, object]:
    return {
        "stream": stream, "day": day_of(int(time.time() * 1000) - days_ago * DAY_MS),
        "id": f"id-{at}", "raw_id": f"raw-{at}", "device_id": "d-1", "arrival_ms": ARRIVAL_MS + at,
        "event_ms": ARRIVAL_MS, "time_quality": "ok", "parser": "json", "revision": 0, "data": data,
    }  # fmt: skip


RAW_ID = f"1{7:032x}"
_NOW_MS = int(time.time() * 1000)
_OF_MESSAGE: dict[str, object] = {
    "id": RAW_ID, "device_id": "d-1", "stream": "other", "lane": "fast", "day": day_of(_NOW_MS),
    "source_topic": "raw.fast", "source_partition": 0, "source_offset": 1,
}  # fmt: skip
MESSAGE: dict[str, list[dict[str, object]]] = {
    "events": [
        row(at, "{}", stream="other", days_ago=at % 2 * 400)
        | {"raw_id": RAW_ID, "arrival_ms": _NOW_MS, "lake_ms": _NOW_MS + at, "revision": 1}
        for at in range(10, 14)
    ],
    "repeats": [row(14, "{}", stream="other") | {"raw_id": RAW_ID, "arrival_ms": _NOW_MS}],
    "received": [
        _OF_MESSAGE | {"received_ms": _NOW_MS, "body_bytes": 2, "by_reference": False}
    ],
    "parsed": [
        _OF_MESSAGE
        | {"attempt": attempt, "outcome": "parsed", "parsed_ms": _NOW_MS + attempt, "events": 4,
           "parse_us": 1, "inflated_bytes": 2, "revision": attempt - 1}
        for attempt in (1, 2)
    ],
    "parked": [
        {"day": day_of(_NOW_MS), "key": "k", "reason": "malformed", "detail": "no number",
         "parked_from": "parse.fast", "parked_ms": _NOW_MS, "source_partition": 0,
         "source_offset": 1, "headers": [], "id": RAW_ID, "stream": "other"}
    ],
}  # fmt: skip
"""A message with events of two days, far apart, of its second revision."""


@pytest.fixture(scope="module")
def lake(tmp_path_factory: pytest.TempPathFactory) -> Iterator[SqlCatalog]:
    lake = folder_catalog(tmp_path_factory.mktemp("lake"))
    for table in (EVENTS, REPEATS, RECEIVED, PARSED, PARKED):
        make_table(lake, table)
    rows = [
        row(1, '{"celsius": 21.5, "note": "[red]\\u001b[2J"}'),
        row(2, '{"celsius": "warm", "more": 1}'),
        row(3, '{"celsius": 1}', days_ago=9),
        row(4, '{"celsius": 2}', stream="other"),
    ]
    add_rows(lake, EVENTS, [*rows, *MESSAGE["events"]])
    add_rows(lake, REPEATS, MESSAGE["repeats"])
    add_rows(lake, RECEIVED, MESSAGE["received"])
    add_rows(lake, PARSED, MESSAGE["parsed"])
    add_rows(lake, PARKED, MESSAGE["parked"])
    yield lake
    lake.close()


@pytest.fixture
def published(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    use_region(monkeypatch)
    monkeypatch.setenv("COLUMNS", "120")
    with buckets(BUCKET) as s3:
        store = FlowStore(s3, BUCKET)
        flows = [flow_from_toml(flow(stream), file=stream) for stream in ("thermo", "bare")]
        store.make_current(store.publish([replace(flows[0], schema=SCHEMA), flows[1]]))
        write_stage(flows_bucket=BUCKET)
        yield


@pytest.fixture
def ask(published: None, lake: SqlCatalog) -> Ask:
    register_lake(lake)
    return run


def run(*arguments: str) -> Result:
    return CliRunner().invoke(app, ["lake", "view", *arguments, "--stage", STAGE])


def test_the_newest_events_come_in_columns_of_their_types(ask: Ask) -> None:
    rows = json.loads(ask("thermo", "--json").stdout)["thermo"]

    assert [(one["id"], one["celsius"]) for one in rows] == [("id-2", None), ("id-1", 21.5)]
    assert rows[0]["arrived_at"] == "2026-11-03T14:05:09.125Z"


@pytest.mark.parametrize("wanted", [RAW_ID, f"{RAW_ID}-3"])
def test_the_rows_of_a_message_are_named_by_table_revision_and_day(ask: Ask, wanted: str) -> None:
    printed = CliRunner().invoke(app, ["lake", "rows", wanted, "--json", "--stage", STAGE])

    rows = json.loads(printed.stdout)["message_rows"]
    assert [(one["name"], one["revision"], one["rows"]) for one in rows] == [
        ("received", 0, 1), ("parsed", 0, 1), ("parsed", 1, 1), ("events", 1, 4),
        ("parked", 0, 1), ("repeats", 0, 1),
    ]  # fmt: skip
    of_events = rows[3]
    assert (of_events["stream"], of_events["last_ms"]) == ("other", _NOW_MS + 13)
    assert of_events["first_day"] < of_events["last_day"] == day_of(_NOW_MS).isoformat()


def test_a_message_that_the_lake_does_not_know_has_no_rows(ask: Ask) -> None:
    printed = CliRunner().invoke(app, ["lake", "rows", f"1{8:032x}", "--stage", STAGE])

    assert (printed.exit_code, "The lake has nothing of a message" in printed.stdout) == (0, True)


def test_the_beginning_of_an_id_is_no_id(ask: Ask) -> None:
    printed = CliRunner().invoke(app, ["lake", "rows", RAW_ID[:8], "--stage", STAGE])

    assert (printed.exit_code, "no whole id" in printed.output) == (1, True)


def test_they_come_as_csv(ask: Ask) -> None:
    rows = list(csv.DictReader(ask("thermo", "--csv", "--limit", "1").stdout.splitlines()))

    assert [(one["device_id"], one["celsius"]) for one in rows] == [("d-1", "")]


def test_a_table_for_people_obeys_nothing_that_a_device_wrote(ask: Ask) -> None:
    shown = ask("thermo").stdout

    assert r"[red]\x1b[2J" in shown
    assert "21.5" in shown


def test_more_days_show_what_stands_under_earlier_ones(ask: Ask) -> None:
    rows = json.loads(ask("thermo", "--json", "--days", "30").stdout)["thermo"]

    assert [one["id"] for one in rows] == ["id-3", "id-2", "id-1"]


@pytest.mark.parametrize("engine", ["athena", "duckdb"])
def test_the_statement_is_printed(ask: Ask, engine: str) -> None:
    printed = ask("thermo", "--sql", engine).stdout

    assert printed.startswith("create or replace view fleetlane.stream_thermo as\nselect\n")
    assert "where stream = 'thermo'" in printed


@pytest.mark.parametrize(
    ("stream", "problem"), [("bare", "declares no schema"), ("nobody", "has no flow in force")]
)
def test_a_stream_without_a_view_is_an_error(ask: Ask, stream: str, problem: str) -> None:
    answer = ask(stream)

    assert answer.exit_code == 1
    assert answer.stderr == f"error: stream {stream} {problem}: it has no view; see docs/flows.md\n"


@pytest.mark.usefixtures("published")
def test_a_lake_that_is_not_there_is_an_error() -> None:
    answer = run("thermo")

    assert answer.exit_code == 1
    assert answer.stderr.startswith("error: there is no table ")
