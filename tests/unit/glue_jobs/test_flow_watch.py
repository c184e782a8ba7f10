"""Flows with too few devices, or too much parked: who is notified, and when nobody is."""

from collections.abc import Collection, Iterable, Sequence
from typing import Final

from fleetlane.events.flows.files import PublishedFlows
from fleetlane.events.flows.flow import Flow, ObjectiveRule, ParserRule
from fleetlane.events.metadata import Alert, AlertKind
from fleetlane.events.metrics import JobMetric
from fleetlane.events.times import HOUR_MS
from glue_jobs.fleet_watch.flow_hours import CONCLUDED_MIN, WEEK_MS, FlowHour, unusual
from glue_jobs.fleet_watch.flow_watch import SILENT_MS, FlowWatch
from glue_jobs.fleet_watch.objectives import ObjectiveHour, burning

NOW_MS: Final = 500_000 * HOUR_MS
DOOR: Final = Flow(
    stream="door",
    owner="safety",
    parsers=(ParserRule(use="json"),),
    objective=ObjectiveRule(canonical_s=2, share=0.99),
)
GPS: Final = Flow(stream="gps", owner="tracking", parsers=(ParserRule(use="json"),))


NONE_FOUND: Final = dict.fromkeys(
    (JobMetric.LOW_COVERAGE_FLOWS, JobMetric.MUCH_PARKED_FLOWS, JobMetric.BURNING_FLOWS), 0
)


def heard(
    devices: int, *, weeks_ago: int = 0, hours_ago: int = 0, stream: str = "gps", parked: int = 0
) -> FlowHour:
    at_ms = NOW_MS - weeks_ago * WEEK_MS - hours_ago * HOUR_MS
    return FlowHour(
        stream=stream, hour_ms=at_ms, devices=devices, concluded=100 * bool(devices), parked=parked
    )


def usually(devices: int, *, weeks: int = 4, stream: str = "gps") -> list[FlowHour]:
    return [heard(devices, weeks_ago=back, stream=stream) for back in range(1, weeks + 1)]


class Watch:
    """The watch among fakes, and what it did."""

    def __init__(self, *hours: FlowHour) -> None:
        self.hours: list[FlowHour] = list(hours)
        self.objective_hours: list[ObjectiveHour] = []
        self.now_ms = NOW_MS + HOUR_MS
        self.alerts: list[Alert] = []
        self.published: list[dict[str, float]] = []
        self.judge_hours = FlowWatch(
            self,
            self,
            send=self.alerts.extend,
            publish=lambda values: self.published.append(dict(values)),
            now_ms=lambda: self.now_ms,
        ).judge_hours

    def current(self) -> PublishedFlows:
        return PublishedFlows.of([GPS, DOOR])

    def latest_ms(self) -> int | None:
        return max((hour.hour_ms for hour in self.hours), default=None)

    def since(self, since_ms: int, streams: Collection[str]) -> Sequence[FlowHour]:
        hours = [hour for hour in self.hours if hour.stream in streams]
        return [hour for hour in hours if hour.hour_ms >= since_ms]

    def objectives_since(self, since_ms: int) -> Sequence[ObjectiveHour]:
        return [hour for hour in self.objective_hours if hour.hour_ms >= since_ms]


def kinds(hours: Iterable[FlowHour], *, at_ms: int = NOW_MS) -> list[AlertKind]:
    found = unusual(hours, hour_ms=at_ms, flows={"gps": GPS}, now_ms=at_ms)
    return [one.kind for one in found]


def test_fewer_devices_than_in_the_same_hour_of_other_weeks_are_reported_to_the_flows_owner() -> (
    None
):
    watch = Watch(*usually(1_000), heard(800))

    watch.judge_hours()

    (alert,) = watch.alerts
    assert (alert.kind, alert.stream, alert.owner) == (AlertKind.LOW_COVERAGE, "gps", "tracking")
    assert (alert.devices, alert.devices_min, alert.from_ms) == (800, 900, NOW_MS)
    assert (alert.key, alert.device_id) == (b"gps", None)


def test_as_many_as_usual_are_nobodys_business() -> None:
    assert kinds([*usually(1_000), heard(950)]) == []


def test_another_hour_of_the_week_says_nothing_of_this_one() -> None:
    nights = [heard(1_000, weeks_ago=back, hours_ago=1) for back in range(1, 5)]

    assert kinds([*nights, *usually(10), heard(10)]) == []


def test_of_less_than_three_weeks_nobody_knows_what_is_usual() -> None:
    assert kinds([*usually(1_000, weeks=2), heard(1)]) == []


def test_a_week_in_which_nothing_was_received_at_all_is_not_known() -> None:
    assert kinds([heard(1_000, weeks_ago=1), heard(1_000, weeks_ago=5), heard(1)]) == []


def test_a_stream_without_a_row_saw_nobody_if_others_were_seen() -> None:
    others = [heard(5, stream="weather"), *usually(5, stream="weather")]

    assert kinds([*usually(1_000), *others]) == [AlertKind.LOW_COVERAGE]


def test_a_stream_of_no_flow_in_force_is_left_alone() -> None:
    retired = [*usually(1_000, stream="old"), heard(1, stream="old")]

    assert kinds(retired) == []


def test_more_parked_than_in_the_week_before_is_reported_to_the_flows_owner() -> None:
    week = [heard(10, hours_ago=back, parked=2) for back in range(1, 100)]
    watch = Watch(*week, heard(10, parked=30))

    watch.judge_hours()

    (alert,) = watch.alerts
    assert (alert.kind, alert.owner) == (AlertKind.MUCH_PARKED, "tracking")
    assert (alert.parked, alert.messages, alert.parked_max) == (30, 100, 12)


def test_a_flow_that_always_parks_as_much_is_as_it_is() -> None:
    week = [heard(10, hours_ago=back, parked=30) for back in range(1, 100)]

    assert kinds([*week, heard(10, parked=35)]) == []


def test_a_new_flow_is_expected_to_park_nearly_nothing() -> None:
    assert kinds([heard(10, parked=11)]) == [AlertKind.MUCH_PARKED]


def test_a_share_of_a_few_messages_says_nothing() -> None:
    few = CONCLUDED_MIN - 1
    hour = FlowHour(stream="gps", hour_ms=NOW_MS, devices=1, concluded=few, parked=few)

    assert kinds([hour]) == []


def test_an_hour_is_judged_once_and_published_until_the_next_is() -> None:
    watch = Watch(*usually(1_000), heard(800))
    watch.judge_hours()

    watch.judge_hours()

    assert len(watch.alerts) == 1
    assert watch.published == [NONE_FOUND | {JobMetric.LOW_COVERAGE_FLOWS: 1}] * 2


def test_the_next_hour_is_judged_anew() -> None:
    watch = Watch(*usually(1_000), heard(800))
    watch.judge_hours()

    watch.hours.append(heard(1_000, hours_ago=-1))
    watch.now_ms += HOUR_MS
    watch.judge_hours()

    assert watch.published[-1] == NONE_FOUND


def test_hours_that_the_lake_has_at_once_are_all_judged() -> None:
    watch = Watch(*usually(1_000), heard(1_000))
    watch.judge_hours()

    watch.hours += [heard(1_000, hours_ago=-1, parked=60), heard(1_000, hours_ago=-2)]
    watch.now_ms += 2 * HOUR_MS
    watch.judge_hours()

    (alert,) = watch.alerts
    assert (alert.kind, alert.from_ms) == (AlertKind.MUCH_PARKED, NOW_MS + HOUR_MS)


def test_an_arrival_by_a_clock_that_is_ahead_keeps_no_later_hour_from_being_judged() -> None:
    weeks = range(1, 5)
    usual = [heard(1_000, weeks_ago=back, hours_ago=ago) for back in weeks for ago in (0, -1)]
    watch = Watch(*usual, heard(1_000), heard(1, hours_ago=-1_000))
    watch.judge_hours()

    watch.hours.append(heard(100, hours_ago=-1))
    watch.now_ms += HOUR_MS
    watch.judge_hours()

    (alert,) = watch.alerts
    assert (alert.devices, alert.from_ms) == (100, NOW_MS + HOUR_MS)


def test_a_fleet_that_falls_silent_as_a_whole_is_noticed_by_the_clock() -> None:
    hours = [heard(1_000, weeks_ago=back, hours_ago=ago) for back in range(1, 5) for ago in (0, 1)]
    watch = Watch(*hours, heard(1_000, hours_ago=1))
    watch.now_ms = NOW_MS + HOUR_MS + SILENT_MS

    watch.judge_hours()

    (alert,) = watch.alerts
    assert (alert.kind, alert.devices, alert.from_ms) == (AlertKind.LOW_COVERAGE, 0, NOW_MS)


def test_before_the_lakes_first_hour_nothing_is_said() -> None:
    watch = Watch()

    watch.judge_hours()

    assert (watch.alerts, watch.published) == ([], [])


def late(late: int, *, hours_ago: int = 0, messages: int = 1_000) -> ObjectiveHour:
    return ObjectiveHour("door", "canonical", NOW_MS - hours_ago * HOUR_MS, messages, late)


def last_hours(count: int, *others: ObjectiveHour) -> list[ObjectiveHour]:
    """Hours without a late message, but for ``others``."""
    hours = {hour.hour_ms: hour for hour in (late(0, hours_ago=back) for back in range(count))}
    return list((hours | {hour.hour_ms: hour for hour in others}).values())


def burnt(*hours: ObjectiveHour) -> list[tuple[int | None, int | None, int | None]]:
    flows = {"door": DOOR, "gps": GPS}
    found = burning(hours, hour_ms=NOW_MS, flows=flows, now_ms=NOW_MS)
    return [(one.window_s, one.late, one.late_max) for one in found]


def test_an_hour_that_burns_its_flows_budget_is_reported_to_the_owner() -> None:
    watch = Watch(heard(10), heard(10, stream="door"))
    watch.objective_hours = [late(200)]

    watch.judge_hours()

    (alert,) = watch.alerts
    assert (alert.kind, alert.stream, alert.owner) == (AlertKind.OBJECTIVE_BURNS, "door", "safety")
    assert (alert.objective, alert.messages, alert.late, alert.late_max) == (
        *("canonical", 1_000),
        *(200, 10),
    )
    assert (alert.from_ms, alert.window_s) == (NOW_MS, 3_600)
    assert watch.published[-1][JobMetric.BURNING_FLOWS] == 1


def test_a_slow_burn_needs_more_hours_than_a_fast_one() -> None:
    assert burnt(*last_hours(72, late(100))) == []
    assert burnt(*last_hours(72, *(late(100, hours_ago=back) for back in range(6)))) == [
        (6 * 3_600, 600, 60)
    ]
    assert burnt(*(late(15, hours_ago=back) for back in range(72))) == [(72 * 3_600, 1_080, 720)]


def test_a_burn_that_is_over_is_no_longer_reported() -> None:
    assert burnt(*last_hours(72, late(150, hours_ago=1))) == []
    assert burnt(*last_hours(72, late(1_000, hours_ago=7))) == []


def test_a_budget_that_lasts_is_nobodys_business() -> None:
    assert burnt(*(late(9, hours_ago=back) for back in range(72))) == []


def test_few_messages_burn_nothing() -> None:
    assert burnt(late(19, messages=19)) == []
    assert burnt(late(20, messages=20)) == [(3_600, 20, 0)]


def test_a_flow_without_an_objective_burns_nothing() -> None:
    assert burnt(late(500)._replace(stream="gps"), late(500)._replace(stream="gone")) == []
