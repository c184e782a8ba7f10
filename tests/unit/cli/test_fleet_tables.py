"""Text of devices in tables and CSV: nothing obeys it, whatever it is."""

import csv
import io

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fleetlane.cli.output.fleet_tables import FormatOptions, write_csv
from fleetlane.events.times import MILLIS_MAX
from operations.fleet.devices import GAPS
from operations.fleet.questions import Table
from operations.fleet.traffic import FIRMWARE

HOSTILE = ("[/]", "[bold red]1.0[/bold red]", "[link=http://x]1[/link]", "[", "\\[/]")


@pytest.fixture(autouse=True)
def _wide(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "200")


def health(firmware: str) -> Table:
    row = {"firmware": firmware, "messages": 1, "parked": 0, "malformed": 0}
    return FIRMWARE.answered(list(row), [row], days=7)


@pytest.mark.parametrize("firmware", HOSTILE)
def test_markup_in_a_firmware_is_printed_as_it_is(
    firmware: str, capsys: pytest.CaptureFixture[str]
) -> None:
    FormatOptions().show(health(firmware), asked_at_ms=0)

    assert firmware in capsys.readouterr().out


@pytest.mark.parametrize(
    "firmware", ["1\x1b[2J", "1\x07", "1\u202e2", "1\r\nall is well", "\x9b2J"]
)
def test_what_a_terminal_would_obey_does_not_reach_it(
    firmware: str, capsys: pytest.CaptureFixture[str]
) -> None:
    FormatOptions().show(health(firmware), asked_at_ms=0)

    printed = capsys.readouterr().out
    assert not {"\x1b", "\x07", "\u202e", "\r", "\x9b"} & set(printed)
    assert "all is well\n" not in printed


@given(st.text(max_size=30))
def test_no_firmware_ends_a_table(firmware: str) -> None:
    FormatOptions().show(health(firmware), asked_at_ms=0)


@pytest.mark.parametrize(
    "text", ["=1+1", "+1", "-1", "@SUM(A1)", "\t=1", "\r=1", "=cmd|' /C calc'!A0"]
)
def test_no_cell_of_a_csv_is_a_formula(text: str, capsys: pytest.CaptureFixture[str]) -> None:
    write_csv(["text", "number"], [{"text": text, "number": -1}])

    (row,) = csv.DictReader(io.StringIO(capsys.readouterr().out, newline=""))
    assert row == {"text": f"'{text}", "number": "-1"}


@pytest.mark.parametrize("far_ms", [-999_999_999_999_999_999, MILLIS_MAX + 1, 2**63 - 1])
def test_a_time_far_off_is_printed(far_ms: int, capsys: pytest.CaptureFixture[str]) -> None:
    gap = {"device_id": "d-1", "stream": "gps", "from_ms": far_ms, "to_ms": far_ms, "length_ms": 0}

    FormatOptions().show(GAPS.answered(list(gap), [gap], days=7), asked_at_ms=0)

    assert "gps" in capsys.readouterr().out


def test_a_gap_of_a_clock_that_was_reset_is_not_now(capsys: pytest.CaptureFixture[str]) -> None:
    gap = {"device_id": "d-1", "stream": "gps", "from_ms": 0, "to_ms": -60_000, "length_ms": 0}

    FormatOptions().show(GAPS.answered(list(gap), [gap], days=7), asked_at_ms=0)

    shown = capsys.readouterr().out
    assert ("now" in shown, "ago" in shown) == (False, False)
