import threading

import pytest

from fleetlane.events.overrides import Ceilings, DeviceOverride, Overrides, Restriction
from lambdas.http.admission import Admission, RevokedDeviceError, TooManyMessagesError
from lambdas.http.rate_limits import Verdict

NOW_MS = 1_790_000_000_000
MINUTE_MS = 60_000
CEILINGS = Ceilings(soft_per_minute=2, hard_per_minute=3)


class Current:
    def __init__(self, overrides: Overrides) -> None:
        self.overrides = overrides

    def current(self) -> Overrides:
        return self.overrides


class Told:
    def __init__(self) -> None:
        self.of: list[tuple[str, str]] = []

    def __call__(self, device_id: str, verdict: Verdict) -> None:
        self.of.append((device_id, verdict.value))


def admission(
    overrides: Overrides | None = None,
    *,
    ceilings: Ceilings | None = CEILINGS,
    told: Told | None = None,
    devices_max: int = 100,
) -> Admission:
    return Admission(
        Current(overrides or Overrides()),
        ceilings=ceilings,
        on_over_ceiling=told or Told(),
        devices_max=devices_max,
    )


def held(status: Restriction, until_ms: int | None = None) -> Overrides:
    return Overrides().restricted(["d-1"], DeviceOverride(status=status, until_ms=until_ms))


def test_a_revoked_device_may_not_send() -> None:
    with pytest.raises(RevokedDeviceError, match="device d-1 is revoked"):
        admission(held(Restriction.REVOKED)).goes_aside("d-1", now_ms=NOW_MS)


@pytest.mark.parametrize("ceilings", [CEILINGS, None])
def test_a_quarantined_device_goes_aside_with_its_first_message(ceilings: Ceilings | None) -> None:
    admitting = admission(held(Restriction.QUARANTINED), ceilings=ceilings)

    assert admitting.goes_aside("d-1", now_ms=NOW_MS)


@pytest.mark.parametrize("status", Restriction)
def test_a_restriction_that_has_ended_holds_nobody_back(status: Restriction) -> None:
    admitting = admission(held(status, until_ms=NOW_MS))

    assert not admitting.goes_aside("d-1", now_ms=NOW_MS)


def test_other_devices_are_not_held_back() -> None:
    assert not admission(held(Restriction.REVOKED)).goes_aside("d-2", now_ms=NOW_MS)


def test_a_change_holds_from_the_next_message_on() -> None:
    current = Current(Overrides())
    admitting = Admission(current, ceilings=None, on_over_ceiling=Told())
    admitting.goes_aside("d-1", now_ms=NOW_MS)

    current.overrides = held(Restriction.REVOKED)

    with pytest.raises(RevokedDeviceError):
        admitting.goes_aside("d-1", now_ms=NOW_MS)


@pytest.mark.parametrize(("of", "via"), [("d-1", "gw-1"), ("d-2", "d-1")])
def test_what_a_revoked_gateway_brings_or_brings_of_a_revoked_device_is_refused(
    of: str, via: str
) -> None:
    with pytest.raises(RevokedDeviceError, match="device d-1 is revoked"):
        admission(held(Restriction.REVOKED)).goes_aside(of, now_ms=NOW_MS, via=via)


def test_what_a_quarantined_gateway_brings_goes_aside() -> None:
    admitting = admission(held(Restriction.QUARANTINED))

    assert admitting.goes_aside("d-2", now_ms=NOW_MS, via="d-1")


def test_a_quarantined_gateway_does_not_hide_a_revoked_device() -> None:
    quarantined = DeviceOverride(status=Restriction.QUARANTINED)
    overrides = held(Restriction.REVOKED).restricted(["gw-1"], quarantined)

    with pytest.raises(RevokedDeviceError, match="device d-1 is revoked"):
        admission(overrides).goes_aside("d-1", now_ms=NOW_MS, via="gw-1")


def test_beyond_its_soft_ceiling_a_device_goes_aside() -> None:
    admitting = admission()

    aside = [admitting.goes_aside("d-1", now_ms=NOW_MS) for _ in range(3)]

    assert aside == [False, False, True]


def test_beyond_its_hard_ceiling_a_device_is_refused() -> None:
    admitting = admission()
    for _ in range(3):
        admitting.goes_aside("d-1", now_ms=NOW_MS)

    with pytest.raises(TooManyMessagesError, match="the limit is 3 a minute"):
        admitting.goes_aside("d-1", now_ms=NOW_MS)


def test_one_device_beyond_its_ceiling_holds_up_no_other() -> None:
    admitting = admission()
    for _ in range(3):
        admitting.goes_aside("d-1", now_ms=NOW_MS)

    assert not admitting.goes_aside("d-2", now_ms=NOW_MS)


def test_a_minute_later_a_device_may_send_as_before() -> None:
    admitting = admission()
    for _ in range(3):
        admitting.goes_aside("d-1", now_ms=NOW_MS)

    assert not admitting.goes_aside("d-1", now_ms=NOW_MS + MINUTE_MS)


def test_without_ceilings_a_device_may_send_as_much_as_it_likes() -> None:
    admitting = admission(ceilings=None)

    assert not any(admitting.goes_aside("d-1", now_ms=NOW_MS) for _ in range(1_000))


def test_a_device_may_have_ceilings_of_its_own() -> None:
    own = Ceilings(soft_per_minute=100, hard_per_minute=100)
    admitting = admission(Overrides().with_ceilings(own, device_id="d-1"))

    assert not any(admitting.goes_aside("d-1", now_ms=NOW_MS) for _ in range(100))


def test_operators_are_told_of_a_device_once_a_minute() -> None:
    told = Told()
    admitting = admission(told=told)

    for second in range(90):
        try:
            admitting.goes_aside("d-1", now_ms=NOW_MS + second * 1_000)
        except TooManyMessagesError:
            continue

    assert told.of == [("d-1", "aside"), ("d-1", "refused")]


def test_only_so_many_devices_are_remembered_those_that_sent_last() -> None:
    admitting = admission(devices_max=2)
    for device_id in ("d-1", "d-1", "d-2", "d-1", "d-3"):
        admitting.goes_aside(device_id, now_ms=NOW_MS)

    remembered = [
        device_id for device_id in ("d-1", "d-2", "d-3") if device_id in admitting._senders
    ]

    assert remembered == ["d-1", "d-3"]


def test_many_threads_together_are_given_one_allowance() -> None:
    ceilings = Ceilings(soft_per_minute=500, hard_per_minute=1_000_000)
    admitting = admission(ceilings=ceilings)
    aside: list[bool] = []

    def send() -> None:
        aside.extend(admitting.goes_aside("d-1", now_ms=NOW_MS) for _ in range(200))

    threads = [threading.Thread(target=send) for _ in range(5)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()

    assert aside.count(False) == 500
