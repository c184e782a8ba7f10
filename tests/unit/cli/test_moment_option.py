"""Moments as they are typed."""

import time

import pytest
import typer

from fleetlane.cli.options.selection import moment
from fleetlane.events.times import DAY_MS


def test_a_time_is_a_moment() -> None:
    assert moment("2026-11-03T14:05:00Z") == 1_793_714_700_000


@pytest.mark.parametrize(
    ("text", "ago_ms"), [("0s", 0), ("90m", 5_400_000), ("12h", 43_200_000), ("3d", 3 * DAY_MS)]
)
def test_so_long_ago_is_a_moment(text: str, ago_ms: int) -> None:
    before_ms = int(time.time() * 1000)

    at_ms = moment(text)

    assert before_ms - ago_ms <= at_ms <= int(time.time() * 1000) - ago_ms


@pytest.mark.parametrize(
    "text", ["", "yesterday", "12", "-1h", "1.5h", "2026-11-03", "1969-12-31T23:59:59Z", "999999d"]
)
def test_what_is_no_moment_is_refused_with_what_is_allowed(text: str) -> None:
    with pytest.raises(typer.BadParameter, match="write 2026-11-03T14:05:00Z, or 90m"):
        moment(text)
