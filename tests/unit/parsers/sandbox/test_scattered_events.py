"""One message's events in the lake: on a few days, however many it declares."""

from copy import replace

import orjson
import pytest

from fleetlane.events.canonical import CanonicalEvent, TimeQuality, canonical_event_from
from fleetlane.events.flows.files import flow_from_toml
from fleetlane.events.flows.flow import Flow
from fleetlane.events.times import DAY_MS
from fleetlane.parsers.sandbox.in_process import InProcess
from tests.unit.parsers.sandbox.conftest import no_time_limit, program, run_of

ARRIVAL_MS = 1_762_178_709_123
DAYS_400 = orjson.dumps([{"at": ARRIVAL_MS - day * DAY_MS} for day in range(400)])


def flow_of(limits: str) -> Flow:
    toml = f"""
    stream = "gps"
    owner = "acme"
    [event_time]
    field = "at"
    unit = "ms"
    [limits]
    {limits}
    [[parsers]]
    use = "json"
    """
    return flow_from_toml(toml, file="test.toml")


def events_of(body: bytes, *, limits: str = "") -> list[CanonicalEvent]:
    run = run_of(program("json", None), [body])
    run = replace(run, assignment=replace(run.assignment, flow=flow_of(limits)))
    results = InProcess().parsed(run, no_time_limit())
    return [canonical_event_from(one.value) for result in results for one in result.records]


def days_touched(events: list[CanonicalEvent]) -> set[str]:
    """As the lake's rows have them."""
    arrived = "2025-11-03"
    return {(one.time or "")[:10] if one.timequality == "ok" else arrived for one in events}


@pytest.mark.parametrize(
    ("limits", "days"), [("", 8), ("days_max = 1", 1), ("days_max = 100", 100)]
)
def test_a_small_message_with_events_of_400_days_touches_no_more_than_its_flow_allows(
    limits: str, days: int
) -> None:
    events = events_of(DAYS_400, limits=limits)

    assert len(DAYS_400) < 9_000
    assert len(days_touched(events)) == days


def test_events_on_further_days_are_kept_as_they_are_declared_and_flagged() -> None:
    sent = [0, 1, 2, 3, 4, 5, 6, 7, 8, 0, 9, 7]
    body = orjson.dumps([{"at": ARRIVAL_MS - day * DAY_MS} for day in sent])

    events = events_of(body)

    assert [one.data["at"] for one in events] == [ARRIVAL_MS - day * DAY_MS for day in sent]
    assert [place for place, one in enumerate(events) if one.timequality != TimeQuality.OK] == [
        8,
        10,
    ]
    assert {events[8].timequality, events[10].timequality} == {TimeQuality.SCATTERED}
    assert events[8].time == "2025-10-26T14:05:09.123Z"
