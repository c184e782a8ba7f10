"""The sweep: what was missed lands, oldest first, however often it is cut short."""

from collections.abc import Callable

import pytest

from clients.kafka.producer import NotDurableError, RecordRefusedError
from clients.s3.payload_bucket import PayloadUnavailableError
from clients.s3.upload_bucket import IssuedUpload, NotAnUploadError, issued_since, upload_key
from fleetlane.events.times import DAY_MS, HOUR_MS
from lambdas.uploads.handler import SweepFoundFaultsError, reported
from lambdas.uploads.sweep import OUTAGES_MAX, Sweep, SweepReport
from tests.unit.lambdas.upload_fakes import FakeUploads

NOW_MS = 1_793_714_705_000
AFTER_S = 900
ISSUED = IssuedUpload(
    device_id="d-1",
    device_type="press",
    is_quarantined=False,
    stream="dumps",
    body_bytes=6_000_000,
    sha256="ab" * 32,
    content_type="application/json",
)


class World:
    """Uploads in S3, and what a sweep landed of them."""

    def __init__(self) -> None:
        self.uploads = FakeUploads()
        self.landed: list[str] = []
        self.refuse: dict[str, Exception] = {}

    def take(self, number: int, *, age_ms: int) -> str:
        key = upload_key(f"1{number:032x}", issued_millis=NOW_MS - age_ms)
        self.uploads.take(key, ISSUED, stored_millis=NOW_MS - age_ms)
        return key

    def land(self, key: str) -> str:
        if key in self.refuse:
            raise self.refuse[key]
        self.landed.append(key)
        self.uploads.mark_landed(key)
        return key

    def sweep(self, may_go_on: Callable[[], bool] = lambda: True) -> SweepReport:
        sweep = Sweep(uploads=self.uploads, land=self.land, after_s=AFTER_S)
        return sweep.run(now_ms=NOW_MS, may_go_on=may_go_on)


def test_what_never_landed_lands_oldest_first() -> None:
    world = World()
    young, old = world.take(1, age_ms=HOUR_MS), world.take(2, age_ms=5 * DAY_MS)

    report = world.sweep()

    assert (world.landed, report.landed) == ([old, young], [old, young])


def test_what_landed_is_left_alone() -> None:
    world = World()
    world.uploads.mark_landed(world.take(1, age_ms=HOUR_MS))

    report = world.sweep()

    assert (report.looked_at, world.landed) == (1, [])


def test_the_youngest_are_left_to_their_notifications() -> None:
    world = World()
    world.take(1, age_ms=AFTER_S * 1000 - 1)

    world.sweep()

    assert world.landed == []


def test_after_its_end_it_looks_back_by_a_day_only() -> None:
    world = World()
    world.take(1, age_ms=2 * DAY_MS)

    world.sweep()

    assert world.uploads.position == issued_since(NOW_MS - DAY_MS)


def test_what_comes_late_under_an_early_key_is_found_at_the_next_look() -> None:
    world = World()
    world.take(1, age_ms=2 * HOUR_MS)
    world.sweep()
    late = world.take(2, age_ms=20 * HOUR_MS)

    world.sweep()

    assert world.landed[-1] == late


def test_a_sweep_that_is_cut_short_goes_on_where_it_stopped() -> None:
    world = World()
    keys = [world.take(number, age_ms=3 * DAY_MS - number) for number in range(1500)]
    keys.sort()
    calls = iter(range(10_000))

    world.sweep(may_go_on=lambda: next(calls) < 1002)
    first = list(world.landed)
    world.sweep()

    assert world.uploads.position == issued_since(NOW_MS - DAY_MS)
    assert (first, world.landed) == (keys[: len(first)], keys)
    assert 1000 <= len(first) < 1500


def test_an_outage_passes_nothing_by() -> None:
    world = World()
    key = world.take(1, age_ms=HOUR_MS)
    world.refuse[key] = NotDurableError("raw.slow", 4.0, "down")

    world.sweep()
    world.refuse.clear()
    world.sweep()

    assert world.landed == [key]


def test_one_that_cannot_land_holds_up_none() -> None:
    world = World()
    bad, good = world.take(1, age_ms=2 * HOUR_MS), world.take(2, age_ms=HOUR_MS)
    world.refuse[bad] = NotAnUploadError(bad, "it was put by hand")

    report = world.sweep()

    assert (world.landed, [str(one) for one in report.faults]) == (
        [good],
        [f"{bad!r} is no upload of a device: it was put by hand"],
    )


@pytest.mark.parametrize(
    "problem",
    [
        RecordRefusedError("raw.slow.stream.gone", 1.0, "Local: Unknown topic"),
        NotDurableError("raw.slow.stream.dumps", 4.0, "Local: Message timed out"),
        PayloadUnavailableError("uploads/x", "Read timed out"),
    ],
    ids=["refused", "a topic without a leader", "an object that S3 does not give"],
)
def test_one_that_does_not_land_now_holds_up_none_and_is_not_passed_by(problem: Exception) -> None:
    world = World()
    bad, good = world.take(1, age_ms=5 * DAY_MS), world.take(2, age_ms=HOUR_MS)
    world.refuse[bad] = problem

    first = world.sweep()
    world.refuse.clear()
    world.sweep()

    assert (first.landed, first.faults, first.outage) == ([good], [problem], None)
    assert world.landed == [good, bad]


def test_an_outage_ends_it_after_a_few_tries() -> None:
    world, problem = World(), NotDurableError("raw.slow", 4.0, "down")
    for number in range(20):
        world.refuse[world.take(number, age_ms=HOUR_MS)] = problem

    report = world.sweep()

    assert (report.outage, len(report.faults)) == (problem, OUTAGES_MAX)


def test_a_sweep_that_found_what_cannot_land_fails_when_all_is_done() -> None:
    report = SweepReport(faults=[NotAnUploadError("uploads/x", "it was put by hand")])

    with pytest.raises(
        SweepFoundFaultsError, match="1 uploads cannot land; the first: 'uploads/x'"
    ):
        reported(report)


def test_s3_that_does_not_answer_fails_it() -> None:
    world = World()
    world.uploads.is_up = False

    report = world.sweep()

    assert report.outage is not None
    assert report.landed == []
