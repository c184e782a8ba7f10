from pathlib import Path

import pytest

from clients.flows.kept_flows import KeptFlows
from clients.flows.store import CachedFlows, FlowsNotPublishedError, FlowsUnavailableError
from fleetlane.events.flows.files import PublishedFlows

S3_IS_DOWN = FlowsUnavailableError("flows/current.json", "S3 is down")


class Store:
    """Gives what it was set to, and counts how often it is asked."""

    def __init__(
        self, flows: PublishedFlows | None, *, problem: FlowsUnavailableError = S3_IS_DOWN
    ) -> None:
        self.flows, self._problem = flows, problem
        self.asked = 0

    def current(self) -> PublishedFlows:
        self.asked += 1
        if self.flows is None:
            raise self._problem
        return self.flows


class Clock:
    def __init__(self) -> None:
        self.now_s = 1_000.0

    def __call__(self) -> float:
        return self.now_s


FIRST = PublishedFlows(version="first", flows=())
SECOND = PublishedFlows(version="second", flows=())


def test_flows_are_read_once_while_they_are_young() -> None:
    store = Store(FIRST)
    cached = _cached(store, Clock())

    versions = {cached.current().version for _ in range(10)}

    assert versions == {"first"}
    assert store.asked == 1


def test_flows_are_read_again_when_they_are_too_old() -> None:
    store, clock = Store(FIRST), Clock()
    cached = _cached(store, clock)
    cached.current()
    store.flows = SECOND

    clock.now_s += 15

    assert cached.current() is SECOND


def test_the_older_flows_stay_while_s3_fails() -> None:
    store, clock = Store(FIRST), Clock()
    cached = _cached(store, clock)
    cached.current()
    store.flows = None

    clock.now_s += 60

    assert cached.current() is FIRST


def test_flows_that_were_never_read_are_an_error() -> None:
    cached = _cached(Store(None), Clock())

    with pytest.raises(FlowsUnavailableError, match="S3 is down"):
        cached.current()


def test_an_s3_that_fails_is_left_alone_for_a_while() -> None:
    store = Store(None)
    cached = _cached(store, Clock())

    for _ in range(10):
        with pytest.raises(FlowsUnavailableError):
            cached.current()

    assert store.asked == 1


def test_flows_are_found_once_s3_is_back() -> None:
    store, clock = Store(None), Clock()
    cached = _cached(store, clock)
    with pytest.raises(FlowsUnavailableError):
        cached.current()
    store.flows = FIRST

    clock.now_s += 15

    assert cached.current() is FIRST


def begun(store: Store, folder: Path) -> CachedFlows:
    """What a worker that begins now has; its neighbours keep flows in the same folder."""
    kept = KeptFlows(store, folder)
    return CachedFlows(kept, max_age_s=15, kept=kept.last)


def test_a_process_that_begins_while_s3_fails_has_the_flows_of_its_neighbours(
    tmp_path: Path,
) -> None:
    begun(Store(FIRST), tmp_path).current()
    begun(Store(SECOND), tmp_path).current()

    assert begun(Store(None), tmp_path).current() == SECOND


def test_flows_that_a_neighbour_kept_are_not_fresh(tmp_path: Path) -> None:
    begun(Store(FIRST), tmp_path).current()
    cached = begun(Store(None), tmp_path)
    cached.current()

    with pytest.raises(FlowsUnavailableError, match="S3 is down"):
        cached.fresh(max_age_s=60)


def test_a_process_that_begins_while_s3_fails_on_a_new_machine_knows_no_flows(
    tmp_path: Path,
) -> None:
    with pytest.raises(FlowsUnavailableError, match="S3 is down"):
        begun(Store(None), tmp_path).current()


def test_flows_are_no_longer_kept_once_s3_says_that_there_are_none(tmp_path: Path) -> None:
    begun(Store(FIRST), tmp_path).current()
    store = Store(None, problem=FlowsNotPublishedError("flows/current.json"))
    nowhere = KeptFlows(store, tmp_path)
    with pytest.raises(FlowsNotPublishedError):
        nowhere.current()

    assert nowhere.last() is None


def test_a_file_that_is_cut_short_holds_no_flows(tmp_path: Path) -> None:
    kept = KeptFlows(Store(FIRST), tmp_path)
    kept.current()
    (file,) = tmp_path.iterdir()
    file.write_bytes(file.read_bytes()[:-1])

    assert kept.last() is None


def test_flows_are_given_where_there_is_no_room_to_keep_them(tmp_path: Path) -> None:
    (tmp_path / "file").touch()

    assert KeptFlows(Store(FIRST), tmp_path / "file").current() is FIRST


def _cached(store: Store, clock: Clock) -> CachedFlows:
    return CachedFlows(store, max_age_s=15, monotonic=clock)
