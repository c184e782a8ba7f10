import pytest
from hypothesis import given
from hypothesis import strategies as st

from fleetlane.events.overrides import (
    BadOverridesError,
    DeviceOverride,
    Overrides,
    RateLimits,
    Restriction,
    overrides_from_json,
)

NOW_MS = 1_790_000_000_000
FEW = RateLimits(soft_per_minute=1, hard_per_minute=2)
SOME = RateLimits(soft_per_minute=10, hard_per_minute=20)
MANY = RateLimits(soft_per_minute=100, hard_per_minute=200)

restrictions = st.builds(
    DeviceOverride, status=st.sampled_from(Restriction), until_ms=st.none() | st.integers(0, 2**53)
)
rate_limits = st.integers(1, 1000).map(
    lambda soft: RateLimits(soft_per_minute=soft, hard_per_minute=2 * soft)
)
device_ids = st.from_regex("[A-Za-z0-9._-]{1,64}", fullmatch=True)
any_overrides = st.builds(
    Overrides,
    version=st.integers(0, 2**53),
    devices=st.dictionaries(device_ids, restrictions, max_size=5),
    rate_limits=st.none() | rate_limits,
    device_rate_limits=st.dictionaries(device_ids, rate_limits, max_size=5),
)


@given(any_overrides)
def test_overrides_are_read_as_they_were_written(overrides: Overrides) -> None:
    assert overrides_from_json(overrides.to_json()) == overrides


@given(st.binary(max_size=200))
def test_any_bytes_are_overrides_or_refused(text: bytes) -> None:
    try:
        overrides = overrides_from_json(text)
    except BadOverridesError:
        return

    assert overrides_from_json(overrides.to_json()) == overrides


def test_the_written_form_is_what_operators_and_other_versions_read() -> None:
    override = DeviceOverride(status=Restriction.REVOKED, until_ms=NOW_MS)
    overrides = Overrides().restricted(["d-1"], override).next_version(now_ms=0)

    assert overrides.to_json() == (
        b'{"version":1,"devices":{"d-1":{"status":"revoked","until_ms":1790000000000}},'
        b'"ceilings":null,"device_ceilings":{}}'
    )


def test_what_a_newer_command_wrote_besides_is_ignored() -> None:
    overrides = overrides_from_json(b'{"version": 3, "regions": {}}')

    assert overrides == Overrides(version=3)


@pytest.mark.parametrize(
    "text",
    [
        b"",
        b"[]",
        b'{"version": "1"}',
        b'{"devices": {"../up": {"status": "revoked"}}}',
        b'{"devices": {"d-1": {"status": "active"}}}',
        b'{"devices": {"d-1": {}}}',
        b'{"ceilings": {"soft_per_minute": 0, "hard_per_minute": 1}}',
        b'{"ceilings": {"soft_per_minute": 3, "hard_per_minute": 2}}',
        b'{"device_ceilings": {"": {"soft_per_minute": 1, "hard_per_minute": 1}}}',
        b"[" * 100_000,
    ],
)
def test_what_are_no_overrides_is_refused(text: bytes) -> None:
    with pytest.raises(BadOverridesError):
        overrides_from_json(text)


@pytest.mark.parametrize(
    ("until_ms", "restriction"),
    [(None, "revoked"), (NOW_MS + 1, "revoked"), (NOW_MS, None), (NOW_MS - 1, None)],
)
def test_a_restriction_holds_until_its_time(until_ms: int | None, restriction: str | None) -> None:
    override = DeviceOverride(status=Restriction.REVOKED, until_ms=until_ms)

    overrides = Overrides().restricted(["d-1"], override)

    assert overrides.restriction("d-1", now_ms=NOW_MS) == restriction


def test_a_device_that_is_not_named_is_not_held_back() -> None:
    overrides = Overrides().restricted(["d-1"], DeviceOverride(status=Restriction.REVOKED))

    assert overrides.restriction("d-2", now_ms=NOW_MS) is None


def test_a_released_device_is_held_back_no_longer_and_others_still_are() -> None:
    overrides = Overrides().restricted(["d-1", "d-2"], DeviceOverride(status=Restriction.REVOKED))

    assert set(overrides.released(["d-1", "d-9"]).devices) == {"d-2"}


@pytest.mark.parametrize(
    ("own", "of_all", "of_stage", "wins"),
    [
        (FEW, SOME, MANY, FEW),
        (None, SOME, MANY, SOME),
        (None, None, MANY, MANY),
        (None, None, None, None),
        (MANY, FEW, None, MANY),
    ],
)
def test_the_nearest_rate_limits_win(
    own: RateLimits | None,
    of_all: RateLimits | None,
    of_stage: RateLimits | None,
    wins: RateLimits | None,
) -> None:
    overrides = Overrides().with_rate_limits(of_all, device_id=None)

    overrides = overrides.with_rate_limits(own, device_id="d-1")

    assert overrides.rate_limits_of("d-1", of_stage=of_stage) == wins


def test_rate_limits_are_taken_away_again() -> None:
    overrides = Overrides().with_rate_limits(FEW, device_id="d-1")

    assert overrides.with_rate_limits(None, device_id="d-1").device_rate_limits == {}
