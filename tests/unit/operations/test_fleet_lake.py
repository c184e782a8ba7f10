"""What the lake answers, held to plain Python over the same truth, through real Iceberg tables.

The canary is in the tables and in the registry besides, and in no answer.
"""

from collections.abc import Iterator
from contextlib import closing
from dataclasses import replace
from pathlib import Path

import pytest

from benchmarks.iceberg_tables import folder_catalog
from clients.devices.registry import RegisteredDevice, RegistryUnavailableError
from clients.lake.laptop_lake import LakeMissingError, LaptopLake
from fleetlane.events import canary
from fleetlane.events.lake.tables import RECEIVED
from fleetlane.events.times import DAY_MS, HOUR_MS
from local.demo.lake_tables import make_table
from operations.fleet import devices, traffic
from operations.fleet.fleet import Fleet, Lake
from tests import slow_answers
from tests.known_fleet import ASKED_AT_MS, KnownFleet, known_fleet, lake_of

WEEK = 7


@pytest.fixture(scope="module")
def known() -> KnownFleet:
    return known_fleet(seed=8, devices=120, messages=4_000)


@pytest.fixture(scope="module")
def folder(known: KnownFleet, tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("lake")
    lake_of(with_canary(known), folder).close()
    return folder


@pytest.fixture(scope="module", params=["by pyiceberg", "as a laptop's"])
def fleet(known: KnownFleet, folder: Path, request: pytest.FixtureRequest) -> Iterator[Fleet]:
    devices = with_canary(known).devices
    with closing(folder_catalog(folder)) as catalog:
        laptops = LaptopLake(catalog=folder / "catalog.db")
        lake: Lake = catalog if request.param == "by pyiceberg" else laptops
        with Fleet(lake, devices, asked_at_ms=ASKED_AT_MS) as fleet:
            yield fleet


def with_canary(known: KnownFleet) -> KnownFleet:
    device = replace(known.devices[0], device_id=canary.DEVICE_ID, device_type=canary.DEVICE_TYPE)
    sent = [
        replace(one, id=f"1{number:032x}", device_id=canary.DEVICE_ID, via=None)
        for number, one in enumerate(known.sent[:200], start=len(known.sent))
    ]
    return KnownFleet(devices=(*known.devices, device), sent=(*known.sent, *sent))


def test_a_question_reads_no_table_but_those_that_it_names(tmp_path: Path) -> None:
    with closing(folder_catalog(tmp_path)) as catalog:
        make_table(catalog, RECEIVED)
    lake = LaptopLake(catalog=tmp_path / "catalog.db")

    with Fleet(lake, (), asked_at_ms=ASKED_AT_MS) as fleet:
        assert devices.coverage(fleet).rows
        with pytest.raises(LakeMissingError, match="daily"):
            _ = fleet.arrivals_ms


def test_what_needs_no_registry_is_answered_without_it(known: KnownFleet, folder: Path) -> None:
    def device(_: int) -> RegisteredDevice:
        raise RegistryUnavailableError("no answer")

    lake = LaptopLake(catalog=folder / "catalog.db")

    with Fleet(lake, map(device, range(1)), asked_at_ms=ASKED_AT_MS) as fleet:
        assert fleet.ask(traffic.SIZES, days=WEEK).rows == [slow_answers.sizes(known, WEEK)]
        with pytest.raises(RegistryUnavailableError):
            devices.coverage(fleet)


def test_coverage_is_that_of_the_truth(fleet: Fleet, known: KnownFleet) -> None:
    expected = [slow_answers.coverage(known, days) for days in devices.COVERAGE_DAYS]

    assert devices.coverage(fleet).rows == expected


def test_coverage_by_day_is_that_of_the_truth(fleet: Fleet, known: KnownFleet) -> None:
    assert fleet.ask(devices.COVERAGE_BY_DAY).rows == slow_answers.coverage_by_day(known, 30)


def test_coverage_by_firmware_is_that_of_the_truth(fleet: Fleet, known: KnownFleet) -> None:
    found = fleet.ask(devices.COVERAGE_BY_FIRMWARE, days=2).rows

    assert sorted(found, key=str) == sorted(slow_answers.coverage_by_firmware(known), key=str)
    assert [row["change"] for row in found] == sorted(row["change"] for row in found)


def test_a_firmware_that_was_declared_before_these_days_alone_counts(
    known: KnownFleet, tmp_path: Path
) -> None:
    device = known.sent[0].device_id
    newest = max((one for one in known.sent if one.firmware), key=lambda one: one.received_ms)
    before = replace(newest, device_id=device, received_ms=ASKED_AT_MS - WEEK * DAY_MS)
    after = replace(before, id=f"1{9:032x}", firmware=None, received_ms=ASKED_AT_MS - HOUR_MS)
    its = KnownFleet(devices=known.devices, sent=(before, after))
    lake_of(its, tmp_path).close()

    lake = LaptopLake(catalog=tmp_path / "catalog.db")
    with Fleet(lake, its.devices, asked_at_ms=ASKED_AT_MS) as fleet:
        found = fleet.ask(devices.COVERAGE_BY_FIRMWARE, days=2).rows

    assert sorted(found, key=str) == sorted(slow_answers.coverage_by_firmware(its), key=str)
    assert before.firmware in {row["firmware"] for row in found}


def test_devices_with_far_larger_messages_are_those_of_the_truth(
    fleet: Fleet, known: KnownFleet
) -> None:
    found = fleet.ask(traffic.OUTSIZED, days=WEEK, devices_max=10_000).rows

    assert found == slow_answers.outsized(known, WEEK, times_min=20, bytes_min=10_000)
    assert found


@pytest.mark.parametrize("days", [1, WEEK])
def test_the_silent_are_those_of_the_truth(fleet: Fleet, known: KnownFleet, days: int) -> None:
    assert fleet.ask(devices.SILENT, days=days).rows == slow_answers.silent(known, days)


def test_who_sent_while_the_question_was_read_is_not_older_for_it(
    known: KnownFleet, tmp_path: Path
) -> None:
    first = replace(known.sent[0], device_id="d-0001", via=None, received_ms=ASKED_AT_MS - HOUR_MS)
    second = replace(first, id=f"1{9:032x}", received_ms=ASKED_AT_MS + 60_000)
    lately = KnownFleet(devices=known.devices, sent=(first, second))

    with (
        closing(lake_of(lately, tmp_path)) as catalog,
        Fleet(catalog, lately.devices, asked_at_ms=ASKED_AT_MS) as fleet,
    ):
        (row,) = fleet.ask(devices.DEVICE, device_id="d-0001").rows

    assert (row["last_ms"], row["silent_ms"]) == (second.received_ms, 0)


def test_some_are_silent_though_their_gateway_speaks(fleet: Fleet) -> None:
    silent = fleet.ask(devices.SILENT, days=WEEK).rows

    assert any(
        device["gateway_ms"] is not None
        and device["gateway_ms"] > ASKED_AT_MS - WEEK * 24 * HOUR_MS
        for device in silent
    )


@pytest.mark.parametrize("over_ms", [60_000, HOUR_MS])
def test_the_late_are_those_of_the_truth(fleet: Fleet, known: KnownFleet, over_ms: int) -> None:
    found = fleet.ask(traffic.LATE, days=WEEK, over_ms=over_ms).rows

    assert found == slow_answers.late(known, WEEK, over_ms=over_ms)
    assert found


def test_lags_are_those_of_the_truth(fleet: Fleet, known: KnownFleet) -> None:
    expected = slow_answers.lags(known, WEEK, traffic.LAG_BOUNDS_MS)

    assert fleet.ask(traffic.LAGS, days=WEEK).rows == expected


def test_times_of_no_calendar_are_as_if_they_were_not_declared(
    known: KnownFleet, tmp_path: Path
) -> None:
    first, *others = known.sent
    declared = [
        replace(one, start_ms=start_ms, end_ms=end_ms)
        for one, start_ms, end_ms in zip(
            others[:3],
            (-(2**63), -(10**18) + 1, 2**63 - 1),
            (-(2**63), 2**63 - 1, 2**63 - 1),
            strict=True,
        )
    ]
    undeclared = [replace(one, start_ms=None, end_ms=None) for one in others[:3]]
    mixed, honest = (
        KnownFleet(devices=known.devices, sent=(first, *some, *others[3:500]))
        for some in (declared, undeclared)
    )

    with (
        closing(lake_of(mixed, tmp_path)) as catalog,
        Fleet(catalog, mixed.devices, asked_at_ms=ASKED_AT_MS) as fleet,
    ):
        lags = fleet.ask(traffic.LAGS, days=WEEK).rows
        gaps = fleet.ask(devices.GAPS, days=WEEK, gaps_max=100_000).rows
        late = fleet.ask(traffic.LATE, days=30).rows

    assert lags == slow_answers.lags(honest, WEEK, traffic.LAG_BOUNDS_MS)
    assert gaps == slow_answers.gaps(honest, WEEK, gap_min_ms=devices.GAP_MIN_MS)
    assert late == slow_answers.late(honest, 30, over_ms=HOUR_MS)


def test_sizes_are_those_of_the_truth(fleet: Fleet, known: KnownFleet) -> None:
    assert fleet.ask(traffic.SIZES, days=WEEK).rows == [slow_answers.sizes(known, WEEK)]


def test_size_bins_are_those_of_the_truth(fleet: Fleet, known: KnownFleet) -> None:
    messages = slow_answers.recent(known, WEEK)
    expected = slow_answers.binned((one.body_bytes for one in messages), traffic.SIZE_BOUNDS_BYTES)

    assert fleet.ask(traffic.SIZE_BINS, days=WEEK).rows == expected


def test_compression_is_that_of_the_truth(fleet: Fleet, known: KnownFleet) -> None:
    assert fleet.ask(traffic.COMPRESSION, days=WEEK).rows == slow_answers.compression(known, WEEK)


@pytest.mark.parametrize("days", [WEEK, 30])
def test_malformed_messages_are_those_of_the_truth(
    fleet: Fleet, known: KnownFleet, days: int
) -> None:
    assert fleet.ask(traffic.FIRMWARE, days=days).rows == slow_answers.by_firmware(known, days)


def test_parse_times_are_those_of_the_truth(fleet: Fleet, known: KnownFleet) -> None:
    assert fleet.ask(traffic.PARSERS, days=WEEK).rows == slow_answers.parse_times(known, WEEK)


def test_gaps_are_those_of_the_truth(fleet: Fleet, known: KnownFleet) -> None:
    found = fleet.ask(devices.GAPS, days=WEEK, gaps_max=100_000).rows

    assert found == slow_answers.gaps(known, WEEK, gap_min_ms=devices.GAP_MIN_MS)
    assert found


def test_a_devices_own_gaps_are_among_those_of_all(fleet: Fleet) -> None:
    everyones = fleet.ask(devices.GAPS, days=WEEK, gaps_max=100_000).rows

    its = fleet.ask(devices.GAPS, days=WEEK, device_id="d-0001").rows

    assert its == [gap for gap in everyones if gap["device_id"] == "d-0001"]
    assert its


def test_a_devices_days_are_those_of_the_truth(fleet: Fleet, known: KnownFleet) -> None:
    days = fleet.ask(devices.DEVICE_DAYS, device_id="d-0009")

    assert days.rows == slow_answers.days_of(known, "d-0009", 30)


def test_the_lake_says_how_far_it_has_come(fleet: Fleet, known: KnownFleet) -> None:
    arrived_ms = [one.received_ms for one in known.sent]
    assert fleet.arrivals_ms == (min(arrived_ms), max(arrived_ms))


def test_the_lake_says_of_how_many_messages_it_knows_the_end(
    fleet: Fleet, known: KnownFleet
) -> None:
    ended = [one for one in known.sent if one.final and one.final.outcome != "diverted"]

    assert fleet.final_outcomes() == len(ended)
