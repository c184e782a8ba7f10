import pytest

from clients.flows.store import CachedFlows, FlowsUnavailableError
from fleetlane.events.flows.files import PublishedFlows


class Store:
    """Gives what it was set to, and counts how often it is asked."""

    def __init__(self, flows: PublishedFlows | None) -> None:
        self.flows = flows
        self.asked = 0

    def current(self) -> PublishedFlows:
        self.asked += 1
        if self.flows is None:
            raise FlowsUnavailableError("flows/current.json", "S3 is down")
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


def _cached(store: Store, clock: Clock) -> CachedFlows:
    return CachedFlows(store, max_age_s=15, monotonic=clock)
