"""What is parked as issues: what they have in common, since when, and by which parsers."""

from collections.abc import Callable, Iterator
from contextlib import closing
from pathlib import Path

import pytest

from benchmarks.iceberg_tables import add_rows, folder_catalog
from clients.lake.laptop_lake import LaptopLake
from fleetlane.events import canary
from fleetlane.events.lake.tables import PARKED, PARSED, RECEIVED
from fleetlane.events.times import DAY_MS, HOUR_MS, day_of
from local.demo.lake_tables import make_table
from operations.fleet.fleet import Fleet, Lake
from operations.fleet.issues import ISSUES
from operations.fleet.questions import Row, Table

NOW_MS = 1_794_000_000_000

type Ask = Callable[..., Table]


def parked(number: int, **changes: object) -> Row:
    """A message parked ``hours`` ago, as the lake has it."""
    hours = int(str(changes.pop("hours", 1)))
    row: dict[str, object] = {
        "key": f"raw.standard-0-{number}",
        "reason": "malformed",
        "detail": f"{number} bytes; a level is 6 bytes",
        "parked_from": f"raw.standard-0-{number}",
        "parked_ms": NOW_MS - hours * HOUR_MS,
        "source_partition": 0,
        "source_offset": number,
        "headers": [],
        "id": f"1{number:032x}",
        "device_id": f"d-{number}",
        "stream": "tank",
        "parser": "tank@1.0.0",
        "body": b"secret",
    }
    row |= changes
    return row | {"day": day_of(int(str(row["parked_ms"])))}


def received(number: int, firmware: str, days_ago: int = 0) -> Row:
    day = day_of(NOW_MS - days_ago * DAY_MS)
    return {"day": day, "id": f"1{number:032x}", "firmware": firmware, **_OF_RECEIVED}


def parsed(parser: str, days_ago: int) -> Row:
    at_ms = NOW_MS - days_ago * DAY_MS
    return {"day": day_of(at_ms), "parsed_ms": at_ms, "parser": parser, **_OF_PARSED}


_SOURCE = {"device_id": "d", "stream": "tank", "lane": "standard", "source_topic": "raw.standard"}
_AT = {"source_partition": 0, "source_offset": 0}
_OF_RECEIVED = {**_SOURCE, **_AT, "received_ms": NOW_MS, "body_bytes": 1, "by_reference": False}
_COUNTS = {"events": 1, "parse_us": 1, "inflated_bytes": 0}
_OF_PARSED = {"id": "1", "attempt": 1, "outcome": "parsed", **_SOURCE, **_AT, **_COUNTS}


@pytest.fixture(params=["by pyiceberg", "as a laptop's"])
def ask(tmp_path: Path, request: pytest.FixtureRequest) -> Iterator[Ask]:
    """Writes parked messages, and what else is known, and gives the issues."""
    with closing(folder_catalog(tmp_path)) as catalog:

        def asked(*rows: Row, others: tuple[Row, ...] = (), **given: object) -> Table:
            for table in (PARKED, RECEIVED, PARSED):
                make_table(catalog, table)
            kinds = {PARKED: rows}
            kinds[RECEIVED] = tuple(one for one in others if "firmware" in one)
            kinds[PARSED] = tuple(one for one in others if "parser" in one)
            for table, found in kinds.items():
                add_rows(catalog, table, [dict(one) for one in found])
            laptops = LaptopLake(catalog=tmp_path / "catalog.db")
            lake: Lake = catalog if request.param == "by pyiceberg" else laptops
            with Fleet(lake, (), asked_at_ms=NOW_MS) as fleet:
                return fleet.ask(ISSUES, days=7, **given)

        yield asked


def test_messages_with_one_problem_are_one_issue_whatever_their_numbers_and_quotes(
    ask: Ask,
) -> None:
    found = ask(
        parked(1),
        parked(2, hours=3),
        parked(3, detail="field 'level' has 0xdeadbeef00, not 1.5"),
        parked(4, detail="field 'depth' has 0xfeedbeef11, not 7"),
        parked(5, reason="timeout"),
    )

    assert {(one["problem"], one["reason"]): one["messages"] for one in found.rows} == {
        ("… bytes; a level is … bytes", "malformed"): 2,
        ("field … has …, not …", "malformed"): 2,
        ("… bytes; a level is … bytes", "timeout"): 1,
    }


def test_an_issue_says_when_it_came_how_many_send_it_and_by_which_firmware(ask: Ask) -> None:
    others = (received(1, "2.0"), received(2, "1.9"))
    (issue,) = ask(parked(1), parked(2, hours=5), parked(3, device_id="d-1"), others=others).rows

    assert (issue["first_ms"], issue["last_ms"]) == (NOW_MS - 5 * HOUR_MS, NOW_MS - HOUR_MS)
    assert (issue["devices"], issue["firmware"]) == (2, ["1.9", "2.0"])


def test_a_message_that_was_parked_again_counts_once_as_it_was_parked_last(ask: Ask) -> None:
    again = parked(1, key="raw.slow-0-9", reason="timeout")

    (issue,) = ask(parked(1, hours=2), again).rows

    assert (issue["reason"], issue["messages"]) == ("timeout", 1)


def test_a_message_that_arrived_on_several_days_counts_once(ask: Ask) -> None:
    others = (received(1, "2.0"), received(1, "2.0", days_ago=2))

    (issue,) = ask(parked(1), others=others).rows

    assert (issue["messages"], issue["hours"][-2]) == (1, 1)


def test_a_problem_that_the_version_before_did_not_have_is_new_since_this_one(ask: Ask) -> None:
    versions = (parsed("tank@1.0.0", 6), parsed("tank@1.1.0", 2))
    old = parked(2, reason="timeout", hours=100)

    found = ask(parked(1, parser="tank@1.1.0"), old, others=versions).rows

    assert {one["reason"]: one["new_since"] for one in found} == {
        "malformed": "tank@1.1.0",
        "timeout": None,
    }


def test_the_hours_of_the_last_day_are_counted_the_latest_last(ask: Ask) -> None:
    shown = ask(parked(1, hours=0), parked(2, hours=2), parked(3, hours=2), parked(4, hours=30))

    (issue,) = shown.rows
    assert issue["hours"][-3:] == [2, 0, 1]
    assert shown.columns["last 24 hours"](issue).strip() == "█ ▄"


def test_issues_of_one_stream_are_its_own_and_a_record_without_an_envelope_is_of_none(
    ask: Ask,
) -> None:
    nobodys = parked(2, id=None, device_id=None, stream=None, reason="bad_envelope")

    assert [one["stream"] for one in ask(parked(1), nobodys).rows] == ["tank", None]


def test_one_stream_s_issues_are_asked_for_by_its_name(ask: Ask) -> None:
    found = ask(parked(1), parked(2, stream="gps"), stream="gps")

    assert [one["stream"] for one in found.rows] == ["gps"]


def test_the_canary_s_own_messages_are_no_issue(ask: Ask) -> None:
    assert ask(parked(1, device_id=canary.DEVICE_ID)).rows == []
