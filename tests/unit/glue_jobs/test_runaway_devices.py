"""Who is too fast, whom the watch holds back for it, and when it lets him go."""

from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import partial
from typing import Final

import pytest
from msgspec.structs import replace as replace_struct
from pyspark.errors import PySparkException

from clients.devices.overrides import OverridesUnavailableError
from fleetlane.events.flows.files import PublishedFlows
from fleetlane.events.flows.flow import DevicesRule, Flow, ParserRule
from fleetlane.events.metadata import Alert, AlertKind
from fleetlane.events.metrics import JobMetric
from fleetlane.events.overrides import DeviceOverride, Overrides, RateLimits, Restriction
from glue_jobs.fleet_watch.batches import WatchBatches, WatchContext
from glue_jobs.fleet_watch.quarantine import (
    OVER_RATE_LIMIT,
    STALE_MS,
    Activity,
    PerMinute,
    QuarantineRules,
)
from tests.unit.glue_jobs.fake_sightings import FakeSightings

WINDOW_MS: Final = 60_000
NOW_MS: Final = 1_800_000_000_000 - 1_800_000_000_000 % WINDOW_MS
RULES: Final = QuarantineRules(hold_ms=600_000, devices_max=2, window_ms=WINDOW_MS)
STATION: Final = Flow(
    stream="weather",
    owner="climate",
    parsers=(ParserRule(use="csv"),),
    devices=DevicesRule(messages_per_minute_max=100, bytes_per_minute_max=1_000),
)


class Watch:
    """The watch among fakes, and what it did."""

    def __init__(self, overrides: Overrides | None = None) -> None:
        self.overrides = overrides or Overrides()
        self.now_ms, self.is_away = NOW_MS, False
        self.alerts: list[Alert] = []
        self.published: dict[str, float] = {}
        self.is_alert_refused, self.batches = False, 0
        around = WatchContext(
            flows=self,
            overrides=self,
            note_sighting=FakeSightings().note,
            send=self.send,
            publish=self.published.update,
            now_ms=lambda: self.now_ms,
        )
        self.watch = WatchBatches(
            around,
            RULES,
            per_minute_max=PerMinute(messages=600, bytes=6_000),
            sightings_at_once_max=1,
        )

    def handle_activity(self, batch: Sequence[Activity]) -> None:
        """Handle a batch, which comes again with its number where it failed."""
        self.watch.handle_activity(batch, self.batches)
        self.batches += 1

    def send(self, alerts: Sequence[Alert]) -> None:
        if self.is_alert_refused:
            raise PySparkException("Kafka does not answer")
        self.alerts.extend(alerts)

    def current(self) -> PublishedFlows:
        return PublishedFlows.of([STATION, replace_struct(STATION, stream="door")])

    def read(self) -> Overrides:
        if self.is_away:
            raise OverridesUnavailableError("away")
        return self.overrides

    def change(self, changed: Callable[[Overrides], Overrides], *, now_ms: int) -> Overrides:
        self.overrides = changed(self.overrides).next_version(now_ms=now_ms)
        return self.overrides

    @property
    def held(self) -> Sequence[str]:
        return self.held_in("")

    def held_in(self, stream: str) -> Sequence[str]:
        restriction = partial(self.overrides.restriction, now_ms=self.now_ms, stream=stream)
        devices = self.overrides.devices
        return [one for one in devices if restriction(one) is Restriction.QUARANTINED]


def sent(
    messages: int, *, device: str = "d-1", stream: str = "weather", at_ms: int = NOW_MS
) -> Activity:
    return Activity(device_id=device, stream=stream, window_ms=at_ms, messages=messages)


def test_a_device_over_its_flows_rate_limit_is_held_back_and_reported() -> None:
    watch = Watch()

    watch.handle_activity([sent(101), sent(100, device="d-2")])

    assert watch.held == ["d-1"]
    (alert,) = watch.alerts
    assert (alert.kind, alert.device_id, alert.stream) == (
        AlertKind.OVER_RATE_LIMIT,
        "d-1",
        "weather",
    )
    assert (alert.messages, alert.messages_max, alert.window_s) == (101, 100, 60)
    assert alert.quarantined_until_ms == NOW_MS + RULES.hold_ms


def test_a_device_over_its_flows_bytes_is_held_back_and_reported_with_them() -> None:
    watch = Watch()

    watch.handle_activity([replace(sent(2), inline_bytes=500), replace(sent(1), inline_bytes=501)])

    assert watch.held == ["d-1"]
    (alert,) = watch.alerts
    assert (alert.messages, alert.inline_bytes, alert.inline_bytes_max) == (3, 1_001, 1_000)


def test_an_operators_limit_of_bytes_counts_before_its_flows_and_that_before_the_platforms() -> (
    None
):
    own = RateLimits(soft_per_minute=500, hard_per_minute=500, soft_bytes_per_minute=7_000)
    watch = Watch(Overrides(device_rate_limits={"d-1": own}))
    six_thousand = replace(sent(1), inline_bytes=6_000)

    watch.handle_activity(
        [
            six_thousand,
            replace(six_thousand, device_id="d-2"),
            replace(six_thousand, device_id="d-3", stream="gps"),
        ]
    )

    assert watch.held == ["d-2"]


def test_an_owner_s_limit_holds_a_device_back_in_the_owner_s_own_stream_alone() -> None:
    watch = Watch()

    watch.handle_activity([sent(101), sent(101, stream="gps")])

    assert watch.held_in("weather") == ["d-1"]
    assert watch.held_in("gps") == []


def test_the_platforms_own_limit_holds_a_device_back_in_all_streams() -> None:
    watch = Watch()

    watch.handle_activity([sent(601, stream="gps")])

    assert watch.held_in("weather") == watch.held_in("gps") == ["d-1"]


@pytest.mark.parametrize("other", ["gps", "door"])
def test_a_device_over_the_limits_of_two_streams_is_held_back_in_all(other: str) -> None:
    watch = Watch()

    watch.handle_activity([sent(10_000), sent(601, stream=other)])

    assert watch.held_in("weather") == watch.held_in("counters") == ["d-1"]


@pytest.mark.parametrize("other", ["gps", "door"])
def test_one_that_goes_on_elsewhere_is_held_back_in_all_streams(other: str) -> None:
    watch = Watch()
    watch.handle_activity([sent(101)])

    watch.handle_activity([sent(601, stream=other)])
    watch.handle_activity([sent(101)])

    assert watch.held_in("weather") == watch.held_in("counters") == ["d-1"]


def test_one_that_was_calm_since_is_held_back_by_what_it_does_now() -> None:
    watch = Watch()
    watch.handle_activity([sent(101, stream="door")])

    watch.now_ms = NOW_MS + RULES.hold_ms
    watch.handle_activity([sent(101, at_ms=watch.now_ms)])

    assert watch.held_in("weather") == ["d-1"]
    assert watch.held_in("door") == []


def test_the_parts_of_a_window_are_added_up() -> None:
    watch = Watch()

    watch.handle_activity([sent(60)])
    watch.handle_activity([sent(60)])

    assert watch.held == ["d-1"]


def test_a_batch_that_failed_and_comes_again_counts_once() -> None:
    watch = Watch()
    batch = [sent(101), sent(60, device="d-2")]
    watch.is_alert_refused = True
    for _ in range(3):
        with pytest.raises(PySparkException):
            watch.handle_activity(batch)

    watch.is_alert_refused = False
    watch.handle_activity(batch)

    assert watch.held == ["d-1"]


def test_two_windows_are_not() -> None:
    watch = Watch()

    watch.handle_activity([sent(60), sent(60, at_ms=NOW_MS - WINDOW_MS)])

    assert watch.held == []


def test_a_stream_without_a_rate_limit_has_the_platforms() -> None:
    watch = Watch()

    watch.handle_activity([sent(600, stream="gps"), sent(601, stream="gps", device="d-2")])

    assert watch.held == ["d-2"]


def test_streams_that_a_device_makes_up_count_as_one() -> None:
    watch = Watch()

    watch.handle_activity([sent(2, stream=f"made_up_{n}") for n in range(400)])

    assert watch.held == ["d-1"]


def test_an_operators_rate_limit_for_a_device_counts_before_its_flows() -> None:
    own = RateLimits(soft_per_minute=500, hard_per_minute=1_000)
    watch = Watch(Overrides(device_rate_limits={"d-1": own}))

    watch.handle_activity([sent(500), sent(500, device="d-2")])

    assert watch.held == ["d-2"]


def test_what_arrived_long_ago_says_nothing_of_now() -> None:
    watch = Watch()

    watch.handle_activity([sent(5_000, at_ms=NOW_MS - STALE_MS - 1)])

    assert watch.held == []


def test_who_goes_on_is_held_longer_and_reported_once() -> None:
    watch = Watch()
    watch.handle_activity([sent(200)])

    watch.now_ms = NOW_MS + RULES.hold_ms - 1
    watch.handle_activity([sent(200, at_ms=watch.now_ms)])

    assert watch.overrides.devices["d-1"].until_ms == watch.now_ms + RULES.hold_ms
    assert len(watch.alerts) == 1


def test_who_is_calm_is_released_and_reported() -> None:
    watch = Watch()
    watch.handle_activity([sent(200)])

    watch.now_ms = NOW_MS + RULES.hold_ms
    watch.handle_activity([sent(1, device="d-2", at_ms=watch.now_ms)])

    assert watch.overrides.devices == {}
    assert [alert.kind for alert in watch.alerts] == [AlertKind.OVER_RATE_LIMIT, AlertKind.CALM]


def test_a_restart_goes_on_from_the_overrides() -> None:
    before = Watch()
    before.handle_activity([sent(200)])

    after = Watch(before.overrides)
    after.now_ms = NOW_MS + RULES.hold_ms
    after.handle_activity([sent(1, at_ms=after.now_ms)])

    assert [alert.kind for alert in after.alerts] == [AlertKind.CALM]


def test_what_an_operator_said_of_a_device_stays_as_he_said_it() -> None:
    revoked = DeviceOverride(status=Restriction.REVOKED, until_ms=NOW_MS + 1_000)
    watch = Watch(Overrides(devices={"d-1": revoked}))

    watch.handle_activity([sent(5_000)])

    assert (watch.overrides.devices, watch.alerts) == ({"d-1": revoked}, [])


def test_only_so_many_are_held_back_at_once_the_worst_first_and_the_others_are_counted() -> None:
    watch = Watch()

    watch.handle_activity(
        [sent(sent_by, device=f"d-{sent_by}") for sent_by in (200, 900, 300, 800, 400)]
    )

    assert watch.held == ["d-900", "d-800"]
    assert watch.published == {JobMetric.RUNAWAY_DEVICES_LEFT: 3}


def test_without_overrides_nobody_is_held_back_until_they_can_be_read() -> None:
    watch = Watch()
    watch.is_away = True
    watch.handle_activity([sent(200)])

    watch.is_away = False
    watch.handle_activity([sent(101)])

    assert watch.held == ["d-1"]
    assert watch.overrides.devices["d-1"].cause == OVER_RATE_LIMIT
