"""How flows keep their objectives, asked of a lake whose every message is known."""

from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from benchmarks.iceberg_tables import add_rows, folder_catalog
from clients.lake.laptop_lake import LaptopLake
from fleetlane.events.lake.tables import EVENTS, OBJECTIVES, PARSED, RECEIVED, REPEATS
from fleetlane.events.times import HOUR_MS, day_of
from local.demo.lake_tables import make_table
from operations.fleet.fleet import Fleet, Lake
from operations.fleet.objectives import OBJECTIVE_DAYS, objectives_of
from operations.fleet.questions import Row
from tests.known_objectives import FLOWS, NOW_MS, Timed, judged, known_messages

type Ask = Callable[..., list[Row]]
_WINDOWS = (1, 24, 672)


@pytest.fixture(params=["by pyiceberg", "as a laptop's"])
def ask(tmp_path: Path, request: pytest.FixtureRequest) -> Iterator[Ask]:
    with closing(folder_catalog(tmp_path)) as catalog:

        def asked(messages: list[Timed], hours: tuple[Row, ...] = (), **given: object) -> list[Row]:
            rows = {
                RECEIVED: [one.received() for one in messages],
                PARSED: [row for one in messages for row in one.parsed()],
                EVENTS: [row for one in messages[::2] for row in one.events()],
                REPEATS: [row for one in messages[1::2] for row in one.events()],
                OBJECTIVES: [dict(one) for one in hours],
            }
            for table, found in rows.items():
                make_table(catalog, table)
                if found:
                    add_rows(catalog, table, found)
            laptops = LaptopLake(catalog=tmp_path / "catalog.db")
            lake: Lake = catalog if request.param == "by pyiceberg" else laptops
            with Fleet(lake, (), asked_at_ms=NOW_MS) as fleet:
                answer = fleet.ask(objectives_of(FLOWS), days=OBJECTIVE_DAYS, **given)
                return list(answer.rows)

        yield asked


def summed(messages: list[Timed], hours: int) -> dict[tuple[str, str], Counter[str]]:
    found: dict[tuple[str, str], Counter[str]] = {}
    for (stream, objective, hour_ms), counts in judged(messages).items():
        if hour_ms + HOUR_MS > NOW_MS - hours * HOUR_MS:
            found.setdefault((stream, objective), Counter()).update(counts)
    return found


def test_hours_that_are_not_counted_yet_are_counted_as_plainly_as_by_hand(ask: Ask) -> None:
    messages = known_messages(seed=1, count=400, since_ms=NOW_MS - 20 * HOUR_MS, until_ms=NOW_MS)

    rows = ask(messages)

    for hours in _WINDOWS:
        found = {
            (row["stream"], row["objective"]): (row["messages"], row["late"])
            for row in rows
            if row["hours"] == hours
        }
        assert found == {
            key: (counts["messages"], counts["late"])
            for key, counts in summed(messages, hours).items()
        }


def test_burn_and_what_is_left_are_of_the_share_that_may_be_late(ask: Ask) -> None:
    good = [timed(number, stream="door") for number in range(19)]
    late = timed(19, stream="door", kafka_ms=2_500)

    row = next(row for row in ask([*good, late]) if row["hours"] == 24)

    assert (row["messages"], row["late"], row["late_by"]) == (20, 1, "kafka")
    assert (row["burn"], row["budget_left"]) == (pytest.approx(0.5), pytest.approx(0.5))
    assert isinstance(row["share"], float), "JSON has it"


@pytest.mark.parametrize("hop", ["door", "kafka", "parser", "lake"])
def test_the_hop_that_is_slow_is_named(ask: Ask, hop: str) -> None:
    took: Any = {{"parser": "parse_ms"}.get(hop, f"{hop}_ms"): 90_000}
    slow = timed(1, **took)

    rows = [row for row in ask([slow, timed(2)]) if row["hours"] == 1]

    assert {row["objective"]: row["late_by"] for row in rows} == {
        "canonical": None if hop == "lake" else hop,
        "lake": hop,
    }


def test_hours_that_the_lake_counted_are_not_counted_again(ask: Ask) -> None:
    message = timed(1)
    hour_ms = message.received_ms - message.received_ms % HOUR_MS
    counts = {"messages": 100, "late": 3, "late_by_door": 0, "late_by_kafka": 3}
    counted = {
        "day": day_of(hour_ms),
        "hour_ms": hour_ms,
        "stream": "gps",
        "objective": "canonical",
        "limit_ms": 5_000,
        "late_by_parser": 0,
        "late_by_lake": 0,
        **counts,
    }
    long_ago_ms = hour_ms - 20 * 24 * HOUR_MS
    long_ago = counted | {"day": day_of(long_ago_ms), "hour_ms": long_ago_ms}
    long_ago |= {"messages": 50, "late": 0}

    rows = ask([message], (counted, long_ago), stream="gps")

    assert {(row["objective"], row["hours"]): (row["messages"], row["late"]) for row in rows} == {
        ("canonical", 1): (100, 3),
        ("canonical", 24): (100, 3),
        ("canonical", 672): (150, 3),
        **{("lake", hours): (1, 0) for hours in _WINDOWS},
    }


def timed(number: int, *, stream: str = "gps", **took_ms: int) -> Timed:
    usual: Any = {"door_ms": 10, "kafka_ms": 400, "parse_ms": 2, "lake_ms": 20_000} | took_ms
    return Timed(number=number, stream=stream, received_ms=NOW_MS - 600_000, **usual)
