"""What ingest leans on fails under load: devices are answered in time, and nothing is lost."""

import time
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Final

import pytest

from local.platform import SPOOL_BUCKET
from operations.ledger.reconciliation import Ledger
from tests.e2e.conftest import RunningPlatform
from tests.e2e.load import Kind, Load, Request
from tests.e2e.outages import (
    AT_FULL_LENGTH_ALONE,
    OF_BOTH,
    OF_KAFKA,
    OF_S3,
    OF_THE_REGISTRY,
    OUTAGES,
    Outage,
)
from tests.e2e.stored import object_keys

pytestmark = [pytest.mark.spark, pytest.mark.kafka, pytest.mark.localstack, pytest.mark.faults]

LENGTH_S: Final = 5.0
LENGTH_FULL_S: Final = 60.0
ANSWERED_WITHIN_S_MAX: Final = 5.0
NOISE_S: Final = 25.0
"""On a busy machine servers start slowly. A full-length outage is longer than this."""

REFUSED_MEANWHILE: Final[Mapping[str, tuple[Kind, ...]]] = {
    **dict.fromkeys(OF_S3, (Kind.LARGE,)),
    **dict.fromkeys(OF_THE_REGISTRY, (Kind.NEWCOMER,)),
    OF_BOTH: (Kind.SMALL, Kind.LARGE),
}


def chosen(names: Iterable[str]) -> list[object]:
    """Parameters of a test; of three outages that look alike, two can wait for a full run."""
    later = pytest.mark.full_length
    return [pytest.param(one, marks=later) if one in AT_FULL_LENGTH_ALONE else one for one in names]


@dataclass(frozen=True, slots=True, kw_only=True)
class Window:
    """One outage: the requests that began and ended in it, its length, how soon it was forgotten.

    ``slowest_s`` counts requests from the last moment before it until it was forgotten.
    """

    requests: tuple[Request, ...]
    seconds: float
    slowest_s: float
    normal_again_s: float | None

    def of(self, *kinds: Kind) -> list[Request]:
        return [request for request in self.requests if request.kind in kinds]


@dataclass(frozen=True, slots=True, kw_only=True)
class History:
    """Outages, one after the other, and what became of all that was sent meanwhile."""

    windows: Mapping[str, Window]
    ids_of_messages: Mapping[str, set[str]]
    ledger: Ledger
    left_in_spool: frozenset[str]


@pytest.fixture(scope="module")
def asked_for(request: pytest.FixtureRequest) -> list[str]:
    """The outages that the chosen tests look at: all of them, at full length, take 20 minutes."""
    tests = [one for one in request.session.items if isinstance(one, pytest.Function)]
    looked_at = {one.callspec.params.get("outage") for one in tests if hasattr(one, "callspec")}
    return [name for name in OUTAGES if name in looked_at]


@pytest.fixture(scope="module")
def history(running: RunningPlatform, asked_for: list[str], *, faults_are_full: bool) -> History:
    length_s = LENGTH_FULL_S if faults_are_full else LENGTH_S
    with Load(running.platform) as load:
        load.normal_again_s(time.monotonic(), within_s=NOISE_S)
        windows = {name: _through(running, OUTAGES[name], load, length_s) for name in asked_for}
    ledger = running.ledger_on(load.receipts)
    return History(
        windows=windows,
        ids_of_messages=load.ids_of_messages,
        ledger=ledger,
        left_in_spool=object_keys(running.platform.s3, SPOOL_BUCKET),
    )


def _through(running: RunningPlatform, outage: Outage, load: Load, length_s: float) -> Window:
    with running.keeper.away():
        began_s = time.monotonic()
        with outage(running):
            fails_s = time.monotonic()
            time.sleep(length_s)  # its length, and no guess
            failed_s = time.monotonic()
        over_s = time.monotonic()
    normal_again_s = load.normal_again_s(over_s, within_s=max(length_s, NOISE_S))
    around = load.since(began_s - 1)
    return Window(
        requests=tuple(one for one in load.since(fails_s) if one.ended_s < failed_s),
        seconds=over_s - began_s,
        slowest_s=max(request.seconds for request in around),
        normal_again_s=normal_again_s,
    )


def test_every_accepted_message_comes_to_its_one_end(history: History) -> None:
    ledger = history.ledger

    assert (ledger.lost, ledger.invented, list(ledger.findings.lines())) == (0, 0, [])


def test_a_message_that_is_sent_again_with_its_key_has_its_one_id(history: History) -> None:
    assert {len(ids) for ids in history.ids_of_messages.values()} == {1}


def test_nothing_is_left_in_the_spool(history: History) -> None:
    assert history.left_in_spool == frozenset()


@pytest.mark.parametrize("outage", chosen(OUTAGES))
def test_no_request_waits_longer_than_five_seconds(history: History, outage: str) -> None:
    assert history.windows[outage].slowest_s < ANSWERED_WITHIN_S_MAX


@pytest.mark.parametrize("outage", chosen(OUTAGES))
def test_an_outage_is_forgotten_as_soon_as_it_was_long(history: History, outage: str) -> None:
    window = history.windows[outage]

    assert window.normal_again_s is not None
    assert window.normal_again_s < max(window.seconds, NOISE_S)


@pytest.mark.parametrize("outage", OF_KAFKA)
def test_every_message_is_taken_while_kafka_is_unavailable(history: History, outage: str) -> None:
    requests = history.windows[outage].requests

    assert {request.status for request in requests} == {202}
    assert "spool" in {request.landed for request in requests}


@pytest.mark.parametrize("outage", OF_S3)
def test_what_needs_no_s3_is_taken_while_it_is_unavailable(history: History, outage: str) -> None:
    small = history.windows[outage].of(Kind.SMALL, Kind.NEWCOMER)

    assert {(request.status, request.landed) for request in small} == {(202, "kafka")}


@pytest.mark.parametrize("outage", [*OF_S3, *chosen(OF_THE_REGISTRY), OF_BOTH])
def test_what_cannot_be_taken_is_asked_to_come_again(history: History, outage: str) -> None:
    requests = history.windows[outage].of(*REFUSED_MEANWHILE[outage])

    assert {request.status for request in requests} == {503}
    assert all(int(request.retry_after or 0) >= 5 for request in requests)


@pytest.mark.parametrize("outage", chosen(OF_THE_REGISTRY))
def test_devices_that_are_known_do_not_notice_that_the_registry_is_unavailable(
    history: History, outage: str
) -> None:
    known = history.windows[outage].of(Kind.SMALL, Kind.LARGE)

    assert {request.kind for request in known} == {Kind.SMALL, Kind.LARGE}
    assert all(request.is_normal for request in known)
