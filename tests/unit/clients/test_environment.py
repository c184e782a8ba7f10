from dataclasses import dataclass

import pytest

from clients.environment import BadSettingError, read_settings


@dataclass(frozen=True, slots=True, kw_only=True)
class Text:
    bucket: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Count:
    n: int


@dataclass(frozen=True, slots=True, kw_only=True)
class CountWithDefault:
    n: int = 7


@pytest.mark.parametrize("environ", [{}, {"BUCKET": ""}])
def test_a_missing_setting_is_named(environ: dict[str, str]) -> None:
    with pytest.raises(BadSettingError, match="setting BUCKET is missing or empty"):
        read_settings(Text, environ)


@pytest.mark.parametrize("value", ["0", "-1", "1.5", "many", " 3"])
def test_a_count_that_is_none_is_shown(value: str) -> None:
    with pytest.raises(BadSettingError, match=f"setting N is '{value}'; allowed: whole numbers"):
        read_settings(Count, {"N": value})


def test_a_count_without_a_default_must_be_there() -> None:
    with pytest.raises(BadSettingError, match="setting N is missing"):
        read_settings(Count, {})


def test_a_count_that_is_not_set_has_its_default() -> None:
    assert read_settings(CountWithDefault, {"N": ""}).n == 7
