import pytest

from clients.environment import BadSettingError, count_setting, text_setting


@pytest.mark.parametrize("environ", [{}, {"BUCKET": ""}])
def test_a_missing_setting_is_named(environ: dict[str, str]) -> None:
    with pytest.raises(BadSettingError, match="setting BUCKET is missing or empty"):
        text_setting(environ, "BUCKET")


@pytest.mark.parametrize("value", ["0", "-1", "1.5", "many", " 3"])
def test_a_count_that_is_none_is_shown(value: str) -> None:
    with pytest.raises(BadSettingError, match=f"setting N is '{value}'; allowed: whole numbers"):
        count_setting({"N": value}, "N")


def test_a_count_without_a_default_must_be_there() -> None:
    with pytest.raises(BadSettingError, match="setting N is missing"):
        count_setting({}, "N")


def test_a_count_that_is_not_set_has_its_default() -> None:
    assert count_setting({"N": ""}, "N", default=7) == 7
