"""What a receipt says, and what becomes of a key that comes again."""

import math
from copy import replace

import pytest

from clients.circuit_breaker import CircuitBreaker
from clients.devices.receipts import KeptReceipt, ReceiptsUnavailableError
from clients.flows.store import CurrentFlows, FlowsUnavailableError
from clients.kafka.producer import NotDurableError
from fleetlane.events.flows.files import PublishedFlows, flow_from_toml
from fleetlane.events.flows.flow import Flow
from fleetlane.events.lanes import INLINE_BYTES_MAX, Lane
from lambdas.ingest.intake import Intake, next_upload_after_s
from lambdas.ingest.repeats import Repeats
from lambdas.ingest.service import BodyTooLargeError, InboundMessage, Ingest, Notice, Receipt
from tests.unit.lambdas.api_gateway import unlimited
from tests.unit.lambdas.fake_receipts import FakeReceipts
from tests.unit.lambdas.fakes import FakeFlows, FakeKafka, FakePayloads

NOW_MS = 1_790_000_000_000
DAY_MS = 86_400_000
UPLOAD = InboundMessage(
    device_id="d-1",
    device_type="acme-thermo",
    is_quarantined=False,
    stream="thermo",
    asked=Lane.STANDARD,
    arrival_millis=NOW_MS,
    body=b"hello",
    content_type="application/octet-stream",
    idempotency_key="k-1",
)
ANSWERS = 'upload = { repeats = "answer" }'


class World:
    """An intake with all that it needs."""

    def __init__(self, declared: str = "", flows: CurrentFlows | None = None) -> None:
        self.kafka = FakeKafka(
            (
                "raw.fast",
                "raw.standard",
                "raw.slow",
                "raw.bulk.large",
                "raw.bulk.late",
                "raw.bulk.quarantined",
            )
        )
        self.receipts = FakeReceipts()
        self.outages: list[ReceiptsUnavailableError] = []
        self.now_s = 0.0
        ingest = Ingest(
            producer=self.kafka, put_payload=FakePayloads().put, body_bytes_max=4_500_000
        )
        repeats = Repeats(
            store=lambda: self.receipts,
            on_unavailable=self.outages.append,
            breaker=CircuitBreaker(),
            monotonic=lambda: self.now_s,
        )
        self.intake = Intake(
            rate_limiter=unlimited(),
            flows=flows or FakeFlows(flow(declared)),
            ingest=ingest,
            repeats=repeats,
            on_flows_unavailable=lambda _: None,
        )

    def land(self, upload: InboundMessage = UPLOAD) -> Receipt:
        return self.intake.land(upload)

    @property
    def landed(self) -> int:
        return len(self.kafka.records())


class UnavailableFlows:
    """S3 does not answer."""

    def current(self) -> PublishedFlows:
        raise FlowsUnavailableError("current", "timed out")


def flow(declared: str) -> Flow:
    text = f'stream = "thermo"\nowner = "acme"\n{declared}\n[[parsers]]\nuse = "json"\n'
    return flow_from_toml(text, file="thermo.toml")


def test_a_device_receives_its_slot_in_the_window_of_its_flow() -> None:
    world = World("upload = { smear_s = 3600 }")

    receipt = world.land()

    assert receipt.next_upload_after_s == next_upload_after_s("d-1", window_s=3_600, now_ms=NOW_MS)


@pytest.mark.parametrize("declared", ["", ANSWERS])
def test_a_body_over_the_limit_is_refused_whatever_its_flow_does_with_repeats(
    declared: str,
) -> None:
    world = World(declared)

    with pytest.raises(BodyTooLargeError):
        world.land(replace(UPLOAD, body=b"x" * 4_500_001))

    assert world.landed == 0


def test_without_a_window_a_device_receives_nothing() -> None:
    assert (World().land().next_upload_after_s, World().land().notices) == (0, ())


@pytest.mark.parametrize(
    ("declared", "asked", "notices"),
    [
        ("", Lane.FAST, (Notice.NOT_FAST,)),
        ('lane = "slow"', Lane.FAST, (Notice.NOT_FAST,)),
        ('lane = "fast"', Lane.FAST, ()),
        ("", Lane.STANDARD, ()),
    ],
)
def test_who_asks_for_the_fast_lane_is_notified_when_its_flow_does_not_declare_it(
    declared: str, asked: Lane, notices: tuple[Notice, ...]
) -> None:
    assert World(declared).land(replace(UPLOAD, asked=asked)).notices == notices


def test_a_stream_without_a_flow_is_not_fast() -> None:
    receipt = World().land(replace(UPLOAD, stream="other", asked=Lane.FAST))

    assert receipt.lane is Lane.STANDARD
    assert receipt.notices == (Notice.NOT_FAST, Notice.NO_FLOW)


def test_the_receipt_of_a_stream_without_a_flow_says_so() -> None:
    receipt = World().land(replace(UPLOAD, stream="other"))

    assert receipt.notices == (Notice.NO_FLOW,)


def test_no_flow_is_not_claimed_while_flows_cannot_be_read() -> None:
    receipt = World(flows=UnavailableFlows()).land()

    assert receipt.notices == ()


def test_a_device_is_notified_that_its_flow_cut_the_body() -> None:
    world = World('oversize = "truncate"')

    receipt = world.land(replace(UPLOAD, body=bytes(INLINE_BYTES_MAX + 1)))

    assert receipt.notices == (Notice.TRUNCATED,)


def test_a_repeat_is_answered_with_the_first_receipt_and_not_landed_again() -> None:
    world = World(ANSWERS)

    first, again = world.land(), world.land(replace(UPLOAD, arrival_millis=NOW_MS + 1))

    assert again == replace(first, notices=(Notice.REPEATED,), counted_stream=None)
    assert world.landed == 1


def test_a_repeat_has_the_lane_in_which_the_first_landed() -> None:
    world = World(ANSWERS)
    world.land(replace(UPLOAD, is_quarantined=True))

    again = world.land()

    assert again.lane is Lane.BULK


def test_a_key_that_comes_with_other_bytes_is_landed_and_flagged() -> None:
    world = World(ANSWERS)

    first, other = world.land(), world.land(replace(UPLOAD, body=b"other"))

    assert (other.id == first.id, other.notices) == (False, (Notice.KEY_REUSED,))
    assert world.landed == 2


def test_the_first_bytes_of_a_key_stay_known() -> None:
    world = World(ANSWERS)
    first = world.land()
    world.land(replace(UPLOAD, body=b"other"))

    again = world.land()

    assert (again.id, world.landed) == (first.id, 2)


def test_of_a_key_that_a_batch_has_twice_the_first_bytes_are_known() -> None:
    world = World(ANSWERS)
    uploads = [UPLOAD, replace(UPLOAD, body=b"other")]

    first, _ = world.intake.land_all(uploads, until_s=math.inf)
    again = world.land()

    assert isinstance(first, Receipt)
    assert (again.id, again.notices, world.landed) == (first.id, (Notice.REPEATED,), 2)


@pytest.mark.parametrize(
    "other",
    [
        {"device_id": "d-2"},
        {"idempotency_key": "k-2"},
        {"idempotency_key": None},
        {"registered_ms": NOW_MS},  # erased, and registered anew
    ],
    ids=str,
)
def test_nothing_but_the_same_key_of_the_same_device_is_a_repeat(other: dict[str, object]) -> None:
    world = World(ANSWERS)
    world.land()

    receipt = world.land(replace(UPLOAD, **other))  # type: ignore[arg-type]

    assert (receipt.notices, world.landed) == ((), 2)


def test_a_flow_that_does_not_ask_for_it_remembers_nothing() -> None:
    world = World()

    receipts = [world.land(), world.land()]

    assert receipts[0].id == receipts[1].id
    assert (world.landed, world.receipts.asked) == (2, 0)


def test_a_key_is_forgotten_after_its_flow_s_time() -> None:
    world = World(ANSWERS)
    world.land()

    world.land(replace(UPLOAD, arrival_millis=NOW_MS + DAY_MS))

    assert world.landed == 2


def test_what_did_not_land_is_not_remembered() -> None:
    world = World(ANSWERS)
    world.kafka.is_up = False

    with pytest.raises(NotDurableError):
        world.land()

    assert world.receipts.kept == {}


def test_while_receipts_cannot_be_reached_a_repeat_lands_once_more() -> None:
    world = World(ANSWERS)
    world.receipts.is_up = False

    first, again = world.land(), world.land()

    assert (first.id == again.id, world.landed) == (True, 2)


def test_receipts_that_failed_are_left_alone_for_a_while() -> None:
    world = World(ANSWERS)
    world.receipts.is_up = False
    for _ in range(10):
        world.land()

    world.now_s = 0.6
    world.land()

    assert (world.receipts.asked, len(world.outages)) == (2, 2)


def test_many_are_looked_up_and_remembered_together() -> None:
    world = World(ANSWERS)
    uploads = [replace(UPLOAD, idempotency_key=f"k-{number}") for number in range(30)]
    world.land(uploads[7])
    asked_before = world.receipts.asked

    outcomes = world.intake.land_all(uploads, until_s=math.inf)

    repeats = [outcome for outcome in outcomes if _notices(outcome) == (Notice.REPEATED,)]
    assert (repeats, world.landed) == ([outcomes[7]], 30)
    assert world.receipts.asked == asked_before + 2


def test_of_many_those_that_did_not_land_are_errors_and_not_remembered() -> None:
    world = World(ANSWERS)
    first = world.land()
    world.kafka.is_up = False

    uploads = [UPLOAD, replace(UPLOAD, idempotency_key="k-2")]
    outcomes = world.intake.land_all(uploads, until_s=math.inf)

    assert isinstance(outcomes[0], Receipt)
    assert outcomes[0].id == first.id
    assert isinstance(outcomes[1], NotDurableError)
    assert len(world.receipts.kept) == 1


def _notices(outcome: object) -> tuple[Notice, ...]:
    return outcome.notices if isinstance(outcome, Receipt) else ()


def test_a_receipt_that_is_kept_shows_that_receipts_are_kept_again() -> None:
    breaker, store = CircuitBreaker(), FakeReceipts()
    breaker.failed(0)
    repeats = Repeats(
        store=lambda: store, on_unavailable=lambda _: None, breaker=breaker, monotonic=lambda: 1.0
    )

    kept = KeptReceipt(raw_id="1", lane=Lane.FAST, landed="kafka", sha256="", expires_s=1)
    repeats.remember({"key": kept})

    assert breaker.opened_ms is None
