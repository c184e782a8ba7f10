import pytest

from fleetlane.events.names import (
    BadNameError,
    checked_device_id,
    checked_name,
    is_device_id,
    is_name,
)


@pytest.mark.parametrize("value", ["a", "thermo", "a-1-", "a" * 48])
def test_a_name_is_small_letters_digits_and_hyphens(value: str) -> None:
    assert is_name(value)


@pytest.mark.parametrize("value", ["", "1a", "-a", "A", "a_b", "a.b", "a\n", "ä", "a" * 49])
def test_anything_else_is_no_name(value: str) -> None:
    assert not is_name(value)


@pytest.mark.parametrize("value", ["d", "D-1._", "0", "." * 64])
def test_a_device_id_is_letters_digits_dots_underscores_and_hyphens(value: str) -> None:
    assert is_device_id(value)


@pytest.mark.parametrize("value", ["", "a/b", "a b", "a\n", "é", "٣", "a" * 65])
def test_anything_else_is_no_device_id(value: str) -> None:
    assert not is_device_id(value)


def test_a_refused_name_is_named_with_its_kind_and_pattern() -> None:
    with pytest.raises(BadNameError) as refused:
        checked_name("Thermo", kind="stream")

    assert str(refused.value) == "stream 'Thermo' does not match [a-z][a-z0-9-]{0,47}"


def test_a_refused_device_id_is_shown_cut_off() -> None:
    with pytest.raises(BadNameError) as refused:
        checked_device_id("x" * 1000)

    assert len(str(refused.value)) < 200


def test_what_is_allowed_is_given_back() -> None:
    assert (checked_name("thermo", kind="stream"), checked_device_id("D.1")) == ("thermo", "D.1")
