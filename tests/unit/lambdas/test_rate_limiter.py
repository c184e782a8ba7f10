import threading

import pytest

from fleetlane.events.overrides import DeviceOverride, Overrides, RateLimits, Restriction
from lambdas.http.rate_limiter import (
    RateDecision,
    RateLimiter,
    RevokedDeviceError,
    TooManyMessagesError,
)

NOW_MS = 1_790_000_000_000
MINUTE_MS = 60_000
RATE_LIMITS = RateLimits(soft_per_minute=2, hard_per_minute=3)


class Current:
    def __init__(self, overrides: Overrides) -> None:
        self.overrides = overrides

    def current(self) -> Overrides:
        return self.overrides


class Told:
    def __init__(self) -> None:
        self.of: list[tuple[str, str]] = []

    def __call__(self, device_id: str, verdict: RateDecision) -> None:
        self.of.append((device_id, verdict.value))


def rate_limiter(
    overrides: Overrides | None = None,
    *,
    rate_limits: RateLimits | None = RATE_LIMITS,
    told: Told | None = None,
    devices_max: int = 100,
) -> RateLimiter:
    return RateLimiter(
        Current(overrides or Overrides()).current,
        of_stage=rate_limits,
        on_over_rate_limit=told or Told(),
        devices_max=devices_max,
    )


def held(status: Restriction, until_ms: int | None = None) -> Overrides:
    return Overrides().restricted(["d-1"], DeviceOverride(status=status, until_ms=until_ms))


def test_a_revoked_device_may_not_send() -> None:
    with pytest.raises(RevokedDeviceError, match="device d-1 is revoked"):
        rate_limiter(held(Restriction.REVOKED)).is_diverted("d-1", "gps", now_ms=NOW_MS)


@pytest.mark.parametrize("rate_limits", [RATE_LIMITS, None])
def test_a_quarantined_device_is_diverted_with_its_first_message(
    rate_limits: RateLimits | None,
) -> None:
    admitting = rate_limiter(held(Restriction.QUARANTINED), rate_limits=rate_limits)

    assert admitting.is_diverted("d-1", "gps", now_ms=NOW_MS)


@pytest.mark.parametrize("status", Restriction)
def test_a_restriction_that_has_ended_holds_nobody_back(status: Restriction) -> None:
    admitting = rate_limiter(held(status, until_ms=NOW_MS))

    assert not admitting.is_diverted("d-1", "gps", now_ms=NOW_MS)


def test_other_devices_are_not_held_back() -> None:
    assert not rate_limiter(held(Restriction.REVOKED)).is_diverted("d-2", "gps", now_ms=NOW_MS)


def test_a_change_holds_from_the_next_message_on() -> None:
    current = Current(Overrides())
    admitting = RateLimiter(current.current, of_stage=None, on_over_rate_limit=Told())
    admitting.is_diverted("d-1", "gps", now_ms=NOW_MS)

    current.overrides = held(Restriction.REVOKED)

    with pytest.raises(RevokedDeviceError):
        admitting.is_diverted("d-1", "gps", now_ms=NOW_MS)


@pytest.mark.parametrize(("of", "via"), [("d-1", "gw-1"), ("d-2", "d-1")])
def test_what_a_revoked_gateway_brings_or_brings_of_a_revoked_device_is_refused(
    of: str, via: str
) -> None:
    with pytest.raises(RevokedDeviceError, match="device d-1 is revoked"):
        rate_limiter(held(Restriction.REVOKED)).is_diverted(of, "gps", now_ms=NOW_MS, via=via)


def test_a_device_that_is_held_back_in_one_stream_is_not_in_others() -> None:
    in_door = DeviceOverride(status=Restriction.QUARANTINED, stream="door")
    admitting = rate_limiter(Overrides(devices={"d-1": in_door}))

    assert admitting.is_diverted("d-1", "door", now_ms=NOW_MS)
    assert not admitting.is_diverted("d-1", "gps", now_ms=NOW_MS)
    assert admitting.is_diverted("d-2", "door", now_ms=NOW_MS, via="d-1")


def test_what_a_quarantined_gateway_brings_is_diverted() -> None:
    admitting = rate_limiter(held(Restriction.QUARANTINED))

    assert admitting.is_diverted("d-2", "gps", now_ms=NOW_MS, via="d-1")


def test_a_quarantined_gateway_does_not_hide_a_revoked_device() -> None:
    quarantined = DeviceOverride(status=Restriction.QUARANTINED)
    overrides = held(Restriction.REVOKED).restricted(["gw-1"], quarantined)

    with pytest.raises(RevokedDeviceError, match="device d-1 is revoked"):
        rate_limiter(overrides).is_diverted("d-1", "gps", now_ms=NOW_MS, via="gw-1")


def test_beyond_its_soft_rate_limit_a_device_is_diverted() -> None:
    admitting = rate_limiter()

    aside = [admitting.is_diverted("d-1", "gps", now_ms=NOW_MS) for _ in range(3)]

    assert aside == [False, False, True]


def test_what_a_device_owes_is_counted_though_it_has_no_bytes_left() -> None:
    limiter = rate_limiter(rate_limits=RateLimits(soft_per_minute=100, hard_per_minute=100))
    limiter.is_diverted("d-1", "gps", now_ms=NOW_MS, body_bytes=10 << 30)
    with pytest.raises(TooManyMessagesError, match="bytes"):
        limiter.is_diverted("d-1", "gps", now_ms=NOW_MS)

    limiter.charge("d-1", 500, now_ms=NOW_MS)

    with pytest.raises(TooManyMessagesError, match="messages"):
        limiter.check("d-1", now_ms=NOW_MS + 4 * MINUTE_MS)
    limiter.check("d-1", now_ms=NOW_MS + 6 * MINUTE_MS)


def test_beyond_its_hard_rate_limit_a_device_is_refused() -> None:
    admitting = rate_limiter()
    for _ in range(3):
        admitting.is_diverted("d-1", "gps", now_ms=NOW_MS)

    with pytest.raises(TooManyMessagesError, match="the limit is 3 a minute"):
        admitting.is_diverted("d-1", "gps", now_ms=NOW_MS)


def test_beyond_its_bytes_a_device_is_refused_with_that_limit() -> None:
    few = RateLimits(
        soft_per_minute=9, hard_per_minute=9, soft_bytes_per_minute=5, hard_bytes_per_minute=10
    )
    admitting = rate_limiter(rate_limits=few)
    admitting.is_diverted("d-1", "gps", now_ms=NOW_MS, body_bytes=10)

    with pytest.raises(TooManyMessagesError, match="too many bytes; the limit is 10 a minute"):
        admitting.is_diverted("d-1", "gps", now_ms=NOW_MS, body_bytes=1)


def test_one_device_beyond_its_rate_limit_holds_up_no_other() -> None:
    admitting = rate_limiter()
    for _ in range(3):
        admitting.is_diverted("d-1", "gps", now_ms=NOW_MS)

    assert not admitting.is_diverted("d-2", "gps", now_ms=NOW_MS)


def test_a_minute_later_a_device_may_send_as_before() -> None:
    admitting = rate_limiter()
    for _ in range(3):
        admitting.is_diverted("d-1", "gps", now_ms=NOW_MS)

    assert not admitting.is_diverted("d-1", "gps", now_ms=NOW_MS + MINUTE_MS)


def test_without_rate_limits_a_device_may_send_as_much_as_it_likes() -> None:
    admitting = rate_limiter(rate_limits=None)

    assert not any(admitting.is_diverted("d-1", "gps", now_ms=NOW_MS) for _ in range(1_000))


def test_a_device_may_have_rate_limits_of_its_own() -> None:
    own = RateLimits(soft_per_minute=100, hard_per_minute=100)
    admitting = rate_limiter(Overrides().with_rate_limits(own, device_id="d-1"))

    assert not any(admitting.is_diverted("d-1", "gps", now_ms=NOW_MS) for _ in range(100))


def test_operators_are_notified_of_a_device_once_a_minute() -> None:
    told = Told()
    admitting = rate_limiter(told=told)

    for second in range(90):
        try:
            admitting.is_diverted("d-1", "gps", now_ms=NOW_MS + second * 1_000)
        except TooManyMessagesError:
            continue

    assert told.of == [("d-1", "diverted"), ("d-1", "refused")]


def test_only_so_many_devices_are_remembered_those_that_sent_last() -> None:
    admitting = rate_limiter(devices_max=2)
    for device_id in ("d-1", "d-1", "d-2", "d-1", "d-3"):
        admitting.is_diverted(device_id, "gps", now_ms=NOW_MS)

    remembered = [
        device_id for device_id in ("d-1", "d-2", "d-3") if device_id in admitting._allowances
    ]

    assert remembered == ["d-1", "d-3"]


def test_many_threads_together_are_given_one_allowance() -> None:
    rate_limits = RateLimits(soft_per_minute=500, hard_per_minute=1_000_000)
    admitting = rate_limiter(rate_limits=rate_limits)
    aside: list[bool] = []

    def send() -> None:
        aside.extend(admitting.is_diverted("d-1", "gps", now_ms=NOW_MS) for _ in range(200))

    threads = [threading.Thread(target=send) for _ in range(5)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()

    assert aside.count(False) == 500
