"""Every command's tables, on narrow and wide terminals: nothing is wider, and nothing is cut."""

import time
from collections.abc import Callable
from datetime import date

import pytest
import typer
from rich.cells import cell_len

from fleetlane.cli.commands.parked import report
from fleetlane.cli.commands.platform.demo import ledger_table
from fleetlane.cli.commands.platform.status import status_text
from fleetlane.cli.output.fleet_tables import FormatOptions
from fleetlane.cli.output.parser_results import print_outcome
from fleetlane.cli.output.tables import print_table, table_lines
from fleetlane.cli.output.times import TimeOptions
from fleetlane.events.errors import ParkedReason
from fleetlane.events.flows.files import flow_from_toml
from fleetlane.events.lanes import Lane
from fleetlane.events.times import DAY_MS, HOUR_MS, rfc3339
from fleetlane.parsers.testkit.trials import Outcome, Subject, TrialEvent
from operations.fleet import devices, traffic
from operations.fleet.questions import Question, Row
from operations.lanes.status import LaneStatus, QueryStatus, Status
from operations.ledger.standing import StandingLedger
from operations.messages.parked import ParkedFilter, newest_parked
from tests.unit.cli.test_demo_screen import LEDGER
from tests.unit.operations.stored_messages import (
    ARRIVAL_MS,
    OTHER_ID,
    RAW_ID,
    FakeStore,
    message_of,
)

WIDTHS = (60, 80, 200)
QUESTIONS = [
    one
    for module in (devices, traffic)
    for one in vars(module).values()
    if isinstance(one, Question)
]
TEXTS = {
    "device_id": "valve-of-the-northern-waterworks-building-7-floor-3-room-12",
    "device_type": "ultrasonic-water-meter",
    "status": "quarantined",
    "stream": "waterworks-consumption",
    "firmware": "2.11.0-rc.3+build.20261123",
    "parser": "waterworks-consumption@12.10.3",
    "lane": "standard",
}


class AnyRow(dict[str, object]):
    """A value for whatever key is asked for: text where it is text, else a large number."""

    def __missing__(self, key: str) -> object:
        return date(2026, 11, 23) if key == "day" else TEXTS.get(key, 1_793_714_709)


def fleet() -> None:
    rows: list[Row] = [AnyRow(), AnyRow()]
    FormatOptions().show(*(one.answered([], rows, days=7) for one in QUESTIONS), asked_at_ms=0)


def ledger() -> None:
    rows: list[Row] = [AnyRow(is_settled=False, id=RAW_ID, problem="landed, not parsed")]
    found = StandingLedger(hours=rows, missing=rows)
    FormatOptions().show(*found.shown(), asked_at_ms=0)


def parked() -> None:
    store = FakeStore()
    store.park(message_of(RAW_ID))
    store.park(message_of(OTHER_ID), ParkedReason.TIMEOUT, at_ms=ARRIVAL_MS + 1)
    typer.echo("\n".join(report(newest_parked(store.records, ParkedFilter()), 10)))


def status() -> None:
    lanes = tuple(
        LaneStatus(
            lane=lane, parsed_per_s=12_345.6, parked_percent=99.9, waiting=12_345_678,
            oldest_arrival_ms=ARRIVAL_MS,
        )
        for lane in Lane
    )  # fmt: skip
    name = "parse-standard-waterworks-consumption"
    queries = (QueryStatus(query=name, waiting=123_456, seen_ms=ARRIVAL_MS, stalled_ms=45_000),)
    found = Status(at_ms=ARRIVAL_MS + HOUR_MS, window_s=60, lanes=lanes, queries=queries)
    typer.echo(status_text(found, TimeOptions()))


def parser_try() -> None:
    words: object = "some words " * 9
    data = {f"a_long_field_name_{number}": words for number in range(5)}
    at = rfc3339(ARRIVAL_MS)
    event = TrialEvent(topic="t", key="k", time=at, time_quality="future", data=data)
    flow = flow_from_toml('stream = "s"\nowner = "o"\n[[parsers]]\nuse = "json"\n', file="s.toml")
    subject = Subject(flow=flow, rule=flow.parsers[0], lane=Lane.SLOW, identifier="json")
    print_outcome(Outcome(reason=None, detail="", events=(event,), parse_us=1234), subject)


def demo() -> None:
    typer.echo(ledger_table(LEDGER))


def devices_and_flows() -> None:
    row = (TEXTS["device_id"], TEXTS["device_type"], "quarantined", "2", "2026-11-03 15:05")
    print_table(("id", "type", "status", "keys", "registered"), [row], right=["keys"])
    versions = [("0123456789abcdef" * 4, "2026-11-03 15:05", "12 versions back")]
    print_table(("version", "published", "state"), versions)


@pytest.mark.parametrize("width", WIDTHS)
@pytest.mark.parametrize(
    "show", [fleet, ledger, parked, status, parser_try, demo, devices_and_flows]
)
def test_no_line_is_wider_than_the_terminal_and_no_text_is_cut(
    show: Callable[[], None],
    width: int,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("COLUMNS", str(width))

    show()

    lines = [line for line in capsys.readouterr().out.splitlines() if " bytes of JSON" not in line]
    assert [line for line in lines if cell_len(line) > width] == []
    assert "…" not in "".join(lines)


@pytest.mark.parametrize("width", WIDTHS)
def test_all_of_a_row_is_there_whatever_the_width(
    width: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COLUMNS", str(width))
    row = [f"value{number}" for number in range(20)]
    names = [f"name{number}" for number in range(20)]

    text = "\n".join(table_lines(names, [row]))

    assert all(value in text for value in row)


def test_a_file_has_a_line_a_row(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("COLUMNS", raising=False)

    lines = table_lines(["id", "detail"], [["x" * 64, "word " * 100]])

    assert len(lines) == 2


def test_an_empty_table_is_a_sentence(capsys: pytest.CaptureFixture[str]) -> None:
    silent = devices.SILENT.answered([], [], days=7)

    FormatOptions().show(silent, asked_at_ms=0)

    assert capsys.readouterr().out == "No registered device was silent for 7 days or more.\n"


@pytest.mark.parametrize(
    "question", [one for one in QUESTIONS if "count(*) as count" not in one.sql]
)
def test_every_question_that_may_have_no_rows_says_so_in_a_sentence(question: Question) -> None:
    always_answered = {"coverage", "by_day", "by_hour", "lags", "bins"}

    assert question.name in always_answered or question.empty.endswith(".")


@pytest.mark.parametrize(
    ("age_ms", "text"),
    [(0, "now"), (59_999, "59 s ago"), (180_000, "3 min ago"), (5 * HOUR_MS + 1, "5 h ago")],
)
def test_a_person_reads_how_long_ago_something_was(age_ms: int, text: str) -> None:
    assert TimeOptions().ago(ARRIVAL_MS - age_ms, ARRIVAL_MS) == text


def test_what_was_days_ago_is_a_local_time_and_an_exact_one_on_request(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("TZ", "Asia/Kolkata")
    time.tzset()
    local = TimeOptions().ago(0, DAY_MS), TimeOptions().exact(123)
    monkeypatch.undo()
    time.tzset()

    assert local == ("1970-01-01 05:30", "1970-01-01 05:30:00.123+05:30")
    assert TimeOptions(utc=True).ago(0, DAY_MS) == "1970-01-01T00:00:00.000Z"


def test_moments_of_a_table_lose_their_zone_with_their_heading(
    capsys: pytest.CaptureFixture[str],
) -> None:
    row = AnyRow(last_ms=0, gateway_ms=None, silent_ms=HOUR_MS)
    table = devices.SILENT.answered([], [row], days=7)

    FormatOptions().show(table, asked_at_ms=HOUR_MS)
    FormatOptions(utc=True).show(table, asked_at_ms=HOUR_MS)

    human, exact = capsys.readouterr().out.split("Silent for 7 days or more\n")[1:]
    assert ("1 h ago" in human, "(UTC)" in human) == (True, False)
    assert ("1970-01-01T00:00:00.000Z" in exact, "last message (UTC)" in exact) == (True, True)
