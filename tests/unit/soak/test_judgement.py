"""What a soak makes of its samples: whether memory grows, and whether a backlog goes away."""

import struct
from collections.abc import Iterable

import pytest

from tests.soak.backlog import Waiting
from tests.soak.faults import AT_ONCE, FAULTS, JOBS_DISK_FULL, LENGTH_S_MAX, dealt
from tests.soak.judgement import (
    WARM_UP_S,
    FaultRecord,
    MemorySample,
    MemoryVerdict,
    fault_record,
    memory_verdict,
    normal_in,
    verdict_at_rest,
)
from tests.soak.jvm_counters import counters_in
from tests.soak.small_disk import SmallDisk

HOUR_S = 3_600.0


def life(began_s: float, ended_s: float, *, mib: float, more_an_hour: float) -> list[MemorySample]:
    """A process that takes so much at first, and grows steadily; a sample every ten seconds."""
    return [
        MemorySample(at_s=began_s + age_s, began_s=began_s, mib=mib + more_an_hour * age_s / HOUR_S)
        for age_s in range(0, int(ended_s - began_s), 10)
    ]


def verdict(samples: Iterable[MemorySample]) -> MemoryVerdict:
    return memory_verdict("broker", list(samples), began_s=0, ended_s=2 * HOUR_S)


def waiting(counts: Iterable[int], *, place: str = "standard") -> list[Waiting]:
    """So many a second."""
    return [Waiting(at_s=at_s, by_place={place: count}) for at_s, count in enumerate(counts)]


def test_memory_that_stays_is_flat() -> None:
    found = verdict(life(0, 2 * HOUR_S, mib=400, more_an_hour=0))

    assert found.is_flat
    assert found.growth_mib == pytest.approx(0)


def test_memory_that_grows_in_the_second_half_is_not_flat() -> None:
    found = verdict(life(0, 2 * HOUR_S, mib=400, more_an_hour=60))

    assert not found.is_flat
    assert found.growth_mib == pytest.approx(60)


def test_a_small_role_may_grow_by_a_little_whatever_the_share() -> None:
    found = verdict(life(0, 2 * HOUR_S, mib=60, more_an_hour=20))

    assert found.is_flat


def test_growth_in_the_first_half_alone_does_not_count() -> None:
    grown = life(0, HOUR_S, mib=100, more_an_hour=400)
    rest = [
        MemorySample(at_s=HOUR_S + at_s, began_s=0, mib=500) for at_s in range(0, int(HOUR_S), 10)
    ]

    assert verdict([*grown, *rest]).is_flat


def test_a_restart_is_no_shrinking_that_hides_growth() -> None:
    lives = (
        life(began_s, began_s + 600, mib=300, more_an_hour=400)
        for began_s in range(0, int(2 * HOUR_S), 600)
    )

    assert not verdict([one for each in lives for one in each]).is_flat


def test_a_larger_process_after_a_restart_is_no_growth() -> None:
    before = life(0, 1.5 * HOUR_S, mib=300, more_an_hour=0)
    after = life(1.5 * HOUR_S, 2 * HOUR_S, mib=420, more_an_hour=0)

    found = verdict([*before, *after])

    assert found.is_flat
    assert found.starts == 2


def test_one_more_process_is_no_growth() -> None:
    lives = [
        life(began_s, 2 * HOUR_S, mib=100, more_an_hour=0)
        for began_s in range(0, int(2 * HOUR_S), 600)
    ]

    found = verdict([one for each in lives for one in each])

    assert found.growth_mib == pytest.approx(0)
    assert (found.most_mib, found.processes) == (1_200, 12)


def test_what_many_processes_grow_by_adds_up() -> None:
    lives = [life(10 * number, 2 * HOUR_S, mib=10, more_an_hour=5) for number in range(10)]

    found = verdict([one for each in lives for one in each])

    assert found.growth_mib == pytest.approx(50)
    assert not found.is_flat


def test_what_a_process_takes_while_it_warms_up_is_no_growth() -> None:
    lives = (
        life(began_s, began_s + WARM_UP_S, mib=100, more_an_hour=10_000)
        + life(began_s, began_s, mib=0, more_an_hour=0)
        for began_s in range(0, int(2 * HOUR_S), 100)
    )

    assert verdict([one for each in lives for one in each]).growth_mib is None


@pytest.mark.parametrize(("after_mib", "is_flat"), [(300, True), (344, False)])
def test_a_heap_at_rest_may_grow_by_a_tenth(after_mib: float, *, is_flat: bool) -> None:
    before, after = (
        MemorySample(at_s=at_s, began_s=0, mib=mib)
        for at_s, mib in ((600, 310), (7_800, after_mib))
    )

    assert verdict_at_rest("broker", before, after).is_flat is is_flat


def test_normal_is_by_place_and_some_more_than_ever_waited_in_quiet_times() -> None:
    quiet = [*waiting([10, 100, 40]), *waiting([0, 2], place="slow")]

    assert normal_in(quiet) == {"standard": 170, "slow": 23}


def judged(counts: Iterable[int], *, first_row_s: float | None = 30.0) -> FaultRecord:
    """A fault from second 10 to 25 whose first batch came at 30."""
    return fault_record(
        "Kafka is frozen",
        (10.0, 25.0),
        waiting(counts),
        {"standard": 50},
        lambda since_s: first_row_s if since_s == 25.0 else None,
    )


def test_an_outage_lasts_to_the_first_batch_and_the_recovery_counts_from_there() -> None:
    record = judged([10] * 10 + [500] * 70 + [40] * 10)

    assert (record.outage_s, record.recovery_s) == (20.0, 50.0)
    assert record.recovery_s_max == 100.0
    assert record.is_ok


def test_a_backlog_that_stays_too_long_is_not_ok() -> None:
    record = judged([10] * 10 + [500] * 130 + [40] * 10)

    assert record.recovery_s == 110.0
    assert not record.is_ok


def test_a_backlog_that_is_normal_for_a_moment_only_is_not_yet_gone() -> None:
    record = judged([10] * 10 + [500] * 30 + [40, 40] + [500] * 20 + [40] * 3)

    assert record.recovery_s == 32.0


def test_a_backlog_that_never_goes_away_is_not_ok() -> None:
    record = judged([500] * 300)

    assert record.recovery_s is None
    assert not record.is_ok


def test_a_fault_after_which_no_batch_comes_is_not_ok() -> None:
    record = judged([10] * 100, first_row_s=None)

    assert (record.outage_s, record.is_ok) == (None, False)


def test_equal_seeds_deal_equal_faults_and_each_kind_once_before_any_again() -> None:
    first = [fault for fault, _ in zip(dealt(7), FAULTS, strict=False)]
    again = [fault for fault, _ in zip(dealt(7), FAULTS, strict=False)]

    assert first == again
    assert {fault.kind for fault in first} == set(FAULTS)
    assert all(
        fault.length_s <= LENGTH_S_MAX and (fault.length_s == 0) is (fault.kind in AT_ONCE)
        for fault in first
    )


def test_a_fault_that_this_machine_does_not_allow_is_not_dealt_and_others_stay_the_same() -> None:
    every = [fault for fault, _ in zip(dealt(7), range(40), strict=False)]
    fewer = dealt(7, without=frozenset({JOBS_DISK_FULL}))

    for fault in every:
        if fault.kind != JOBS_DISK_FULL:
            assert next(fewer) == fault


def test_a_small_disk_that_is_full_takes_nothing_and_afterwards_does(
    tmp_path_factory: pytest.TempPathFactory,
) -> None:
    disk = SmallDisk.mounted(tmp_path_factory.mktemp("disk"), size_mib=2)
    if disk is None:
        pytest.skip("this machine lets us mount no tmpfs")

    try:
        with disk.full(), pytest.raises(OSError, match="No space left"):
            (disk.folder / "more").write_bytes(bytes(4_096))
        (disk.folder / "more").write_bytes(bytes(4_096))
    finally:
        disk.unmount()


def entry(name: str, value: int) -> bytes:
    """A counter as a JVM writes it: header, name, value."""
    text = name.encode() + b"\0"
    text += bytes(-len(text) % 8)
    at = 20 + len(text)
    header = struct.pack("<iii4ci", at + 8, 20, 0, b"J", b"\0", b"\0", b"\0", at)
    return header + text + struct.pack("<q", value)


def test_a_jvm_s_counters_are_read_by_name() -> None:
    entries = [entry("sun.gc.collector.1.invocations", 7), entry("sun.ci.nmethodCodeSize", 2**40)]
    prologue = struct.pack("<4s4xiiqii", b"\xca\xfe\xc0\xc0", 0, 0, 0, 32, len(entries))

    counters = counters_in(prologue + b"".join(entries))

    assert counters == {"sun.gc.collector.1.invocations": 7, "sun.ci.nmethodCodeSize": 2**40}


def test_a_file_without_a_jvm_s_mark_has_no_counters() -> None:
    with pytest.raises(ValueError, match="no counters"):
        counters_in(bytes(64))
