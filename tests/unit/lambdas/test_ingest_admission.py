"""Overrides and rate limits as a device meets them: over the routes, with the real rate_limiter."""

from collections.abc import Callable
from itertools import count

import pytest

from clients.devices.overrides import OverridesUnavailableError, cached_overrides
from clients.devices.registry import RegisteredDevice
from fleetlane.events.envelope_reading import message_from
from fleetlane.events.overrides import DeviceOverride, Overrides, RateLimits, Restriction
from lambdas.http.rate_limiter import RateLimiter
from lambdas.ingest.dispatcher import Dispatcher
from tests.unit.lambdas.api_gateway import ACTIVE, NOW_MS, ingest_routes, post
from tests.unit.lambdas.cloud_events import entry, post_batch, tags
from tests.unit.lambdas.fake_overrides import FakeOverrides
from tests.unit.lambdas.fakes import FakeDevices, FakeKafka

RATE_LIMITS = RateLimits(soft_per_minute=2, hard_per_minute=3)


@pytest.fixture
def kafka() -> FakeKafka:
    return FakeKafka(["raw.fast", "raw.standard", "raw.bulk.quarantined"])


@pytest.fixture
def overrides() -> FakeOverrides:
    return FakeOverrides()


@pytest.fixture
def routes(kafka: FakeKafka, overrides: FakeOverrides) -> Dispatcher:
    return routes_with(overrides, producer=kafka)


def routes_with(
    overrides: FakeOverrides,
    *,
    producer: FakeKafka,
    devices: FakeDevices | None = None,
    now_ms: Callable[[], int] = lambda: NOW_MS,
) -> Dispatcher:
    cached = cached_overrides(
        overrides.read, on_unavailable=lambda _: None, max_age_s=0, wait_s=None
    )
    rate_limiter = RateLimiter(cached, of_stage=RATE_LIMITS, on_over_rate_limit=lambda *_: None)
    return ingest_routes(
        rate_limiter=rate_limiter, producer=producer, devices=devices, now_ms=now_ms
    )


def hold(overrides: FakeOverrides, status: Restriction, until_ms: int | None = None) -> None:
    override = DeviceOverride(status=status, until_ms=until_ms)
    overrides.change(lambda present: present.restricted(["d-1"], override), now_ms=0)


def test_a_device_revoked_since_its_token_was_checked_is_forbidden_and_nothing_is_stored(
    routes: Dispatcher, kafka: FakeKafka, overrides: FakeOverrides
) -> None:
    hold(overrides, Restriction.REVOKED)

    answer = post(routes)

    assert (answer.status, answer.tag, kafka.records()) == (403, "forbidden", [])


def test_a_device_quarantined_since_its_token_was_checked_lands_in_the_bulk_lane(
    routes: Dispatcher, kafka: FakeKafka, overrides: FakeOverrides
) -> None:
    hold(overrides, Restriction.QUARANTINED)

    answer = post(routes)

    assert (answer.status, answer.body["lane"], len(kafka.topics["raw.bulk.quarantined"])) == (
        202,
        "bulk",
        1,
    )


def test_an_override_ends_by_the_time_of_arrival(
    routes: Dispatcher, overrides: FakeOverrides
) -> None:
    hold(overrides, Restriction.REVOKED, until_ms=NOW_MS)

    assert post(routes).body["lane"] == "standard"


def test_an_override_never_lets_in_whom_the_authorizer_turned_away(
    routes: Dispatcher, overrides: FakeOverrides
) -> None:
    hold(overrides, Restriction.QUARANTINED)

    answer = post(routes, identity={**ACTIVE, "status": "revoked"})

    assert (answer.status, answer.tag) == (403, "forbidden")


def test_while_overrides_cannot_be_read_the_last_known_hold(
    routes: Dispatcher, overrides: FakeOverrides
) -> None:
    hold(overrides, Restriction.REVOKED)
    post(routes)
    overrides.is_up = False

    assert post(routes).tag == "forbidden"


def test_where_overrides_could_never_be_read_the_authorizer_s_word_holds(
    routes: Dispatcher, overrides: FakeOverrides
) -> None:
    overrides.is_up = False

    assert post(routes).status == 202


def test_beyond_its_rate_limits_a_device_is_diverted_first_and_then_asked_to_slow_down(
    routes: Dispatcher,
) -> None:
    answers = [post(routes) for _ in range(4)]

    outcomes = [answer.body.get("lane") or answer.tag for answer in answers]
    assert outcomes == ["standard", "standard", "bulk", "slow_down"]


def test_a_device_that_sends_too_many_bytes_is_diverted_too_and_then_asked_to_slow_down(
    kafka: FakeKafka,
) -> None:
    few = RateLimits(
        soft_per_minute=99, hard_per_minute=99, soft_bytes_per_minute=64, hard_bytes_per_minute=128
    )
    routes = routes_with(FakeOverrides(Overrides(rate_limits=few)), producer=kafka)

    answers = [post(routes, body=b"x" * 64) for _ in range(3)]

    outcomes = [answer.body.get("lane") or answer.tag for answer in answers]
    assert outcomes == ["standard", "bulk", "slow_down"]


def test_who_is_to_slow_down_is_notified_until_when_and_why(
    routes: Dispatcher, kafka: FakeKafka
) -> None:
    for _ in range(3):
        post(routes)

    answer = post(routes)

    assert (answer.status, answer.headers["Retry-After"]) == (429, "10")
    assert answer.body["detail"] == ("device d-1 sends too many messages; the limit is 3 a minute")
    assert len(kafka.records()) == 3


def test_a_device_that_sends_too_much_does_not_fill_the_log_too(
    routes: Dispatcher, caplog: pytest.LogCaptureFixture
) -> None:
    for _ in range(10):
        post(routes)

    assert caplog.records == []


def test_other_devices_are_served_meanwhile(routes: Dispatcher, kafka: FakeKafka) -> None:
    for _ in range(4):
        post(routes)

    answer = post(routes, identity={**ACTIVE, "device_id": "d-2"})

    record = kafka.topics["raw.standard"][-1]
    assert answer.status == 202
    assert message_from(record.headers, record.value).device_id == "d-2"


def test_of_a_batch_only_what_is_beyond_the_rate_limits_is_held_back(
    routes: Dispatcher, kafka: FakeKafka
) -> None:
    answer = post_batch(routes, *(entry(f"e-{number}") for number in range(5)))

    lanes = [one.get("lane") for one in answer.body["receipts"]]
    assert lanes == ["standard", "standard", "bulk", None, None]
    assert tags(answer)[3:] == ["slow_down", "slow_down"]
    assert len(kafka.records()) == 3


def test_of_a_gateway_s_batch_only_what_is_of_a_revoked_device_is_forbidden(
    kafka: FakeKafka, overrides: FakeOverrides
) -> None:
    behind = [
        RegisteredDevice(
            device_id=device_id, device_type="meter", keys=(), gateway_id="gw-1", registered_ms=0
        )
        for device_id in ("d-1", "d-2")
    ]
    routes = routes_with(overrides, producer=kafka, devices=FakeDevices(*behind))
    hold(overrides, Restriction.REVOKED)

    answer = post_batch(
        routes,
        entry("e-1", device="d-1"),
        entry("e-2", device="d-2"),
        identity={**ACTIVE, "device_id": "gw-1"},
    )

    assert (tags(answer), len(kafka.records())) == (["forbidden", ""], 1)


def test_who_names_strangers_beyond_its_rate_limit_is_refused_before_the_registry_is_asked(
    overrides: FakeOverrides, kafka: FakeKafka
) -> None:
    devices = FakeDevices()
    routes = routes_with(overrides, producer=kafka, devices=devices)
    strangers = [entry(f"e-{one}", device=f"stranger-{one}") for one in range(3)]

    answers = [tags(post_batch(routes, *strangers)) for _ in range(3)]

    assert answers == [["forbidden"] * 3, ["slow_down"] * 3, ["slow_down"] * 3]
    assert devices.looked_up == 3


def test_many_strangers_in_a_batch_are_paid_for_one_by_one(
    overrides: FakeOverrides, kafka: FakeKafka
) -> None:
    devices, minutes = FakeDevices(), count()
    routes = routes_with(
        overrides, producer=kafka, devices=devices, now_ms=lambda: NOW_MS + 60_000 * next(minutes)
    )

    for batch in range(5):
        post_batch(routes, *(entry(f"e-{n}", device=f"stranger-{batch}-{n}") for n in range(30)))

    assert devices.looked_up == 30


def test_a_gateway_s_rate_limit_is_not_charged_for_the_devices_that_are_bound_to_it(
    overrides: FakeOverrides, kafka: FakeKafka
) -> None:
    ids = [f"behind-{one}" for one in range(5)]
    behind = [
        RegisteredDevice(
            device_id=one, device_type="meter", keys=(), gateway_id="d-1", registered_ms=0
        )
        for one in ids
    ]
    routes = routes_with(overrides, producer=kafka, devices=FakeDevices(*behind))

    answers = [tags(post_batch(routes, entry("e-1", device=one))) for one in ids]

    assert answers == [[""]] * 5


def test_a_revoked_gateway_brings_nothing_of_anybody(
    kafka: FakeKafka, overrides: FakeOverrides
) -> None:
    behind = RegisteredDevice(
        device_id="d-2", device_type="meter", keys=(), gateway_id="d-1", registered_ms=0
    )
    routes = routes_with(overrides, producer=kafka, devices=FakeDevices(behind))
    hold(overrides, Restriction.REVOKED)

    answer = post_batch(routes, entry("e-1", device="d-1"), entry("e-2", device="d-2"))

    assert (tags(answer), kafka.records()) == (["forbidden", "forbidden"], [])


def test_overrides_that_cannot_be_read_any_more_are_told_of_and_go_on() -> None:
    override = DeviceOverride(status=Restriction.REVOKED, until_ms=None)
    held, told = Overrides().restricted(["d-1"], override), list[str]()
    denied = OverridesUnavailableError("denied")
    answers: list[Overrides | OverridesUnavailableError] = [held, denied]

    def read() -> Overrides:
        answer = answers.pop(0)
        if isinstance(answer, OverridesUnavailableError):
            raise answer
        return answer

    cached = cached_overrides(
        read, on_unavailable=lambda problem: told.append(str(problem)), max_age_s=0, wait_s=None
    )

    assert [cached(), cached()] == [held, held]
    assert told == ["overrides/current.json cannot be reached: denied"]


def test_without_overrides_everybody_is_let_in() -> None:
    cached = cached_overrides(FakeOverrides().read, on_unavailable=lambda _: None)

    assert cached() == Overrides()
