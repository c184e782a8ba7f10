"""Buckets that all workers of a machine share: what one takes the others lack."""

import subprocess
import sys
from pathlib import Path

import pytest

from fleetlane.parsers.sandbox.shared_buckets import SharedBuckets

NOW_S = 1_000_000.0


def buckets(folder: Path) -> SharedBuckets:
    return SharedBuckets(folder, burst=10.0, per_s=0.5)


@pytest.mark.parametrize("now_s", [NOW_S, 0.5], ids=["after days", "of a machine just started"])
def test_a_bucket_is_full_at_first(tmp_path: Path, now_s: float) -> None:
    assert buckets(tmp_path / "new")["gps"].left_at(now_s) == 10


def test_what_one_worker_takes_the_others_lack(tmp_path: Path) -> None:
    one, other = buckets(tmp_path), buckets(tmp_path)

    one["gps"].overdraw(NOW_S, 25)

    assert (one["gps"].left_at(NOW_S), other["gps"].left_at(NOW_S)) == (-15, -15)


def test_time_gives_it_back_once_for_all(tmp_path: Path) -> None:
    one, other = buckets(tmp_path), buckets(tmp_path)
    one["gps"].overdraw(NOW_S, 10)

    left = [two["gps"].left_at(NOW_S + 4) for two in (one, other, one)]

    assert left == [2, 2, 2]


def test_another_flow_has_its_own(tmp_path: Path) -> None:
    found = buckets(tmp_path)
    found["gps"].overdraw(NOW_S, 10)

    assert (found["gps"].left_at(NOW_S), found["door"].left_at(NOW_S)) == (0, 10)


def test_another_process_counts_along(tmp_path: Path) -> None:
    code = (
        "import sys; from pathlib import Path;"
        "from fleetlane.parsers.sandbox.shared_buckets import SharedBuckets;"
        "SharedBuckets(Path(sys.argv[1]), burst=10.0, per_s=0.5)['gps'].overdraw(1_000_000.0, 7)"
    )
    found = buckets(tmp_path)
    assert found["gps"].left_at(NOW_S) == 10

    subprocess.run([sys.executable, "-c", code, str(tmp_path)], check=True)

    assert found["gps"].left_at(NOW_S) == 3


def test_of_a_machine_that_began_anew_a_bucket_is_full(tmp_path: Path) -> None:
    buckets(tmp_path)["gps"].overdraw(NOW_S, 100)

    assert buckets(tmp_path)["gps"].left_at(5.0) == 10


def test_where_there_is_no_room_each_worker_counts_for_itself(tmp_path: Path) -> None:
    (tmp_path / "taken").write_bytes(b"")
    one, other = buckets(tmp_path / "taken" / "x"), buckets(tmp_path / "taken" / "x")

    one["gps"].overdraw(NOW_S, 4)

    assert (one["gps"].left_at(NOW_S), other["gps"].left_at(NOW_S)) == (6, 10)
