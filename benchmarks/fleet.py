"""How long questions about a fleet take: each one, and the whole report.

The lake holds 5 million messages of 20,000 devices over 30 days, and as many attempts. It is made
once, below build/bench. Each question is asked over the days that the report asks it for, and over
all 30; what counts is the median of three. ``bytes_read_to_canonical`` is the size of all files
that the report's questions may open, as a share of the canonical records of the same messages.
"""

import argparse
import statistics
import sys
import time
from collections.abc import Mapping
from contextlib import closing
from dataclasses import replace
from datetime import date
from pathlib import Path
from typing import Final

from pyiceberg.catalog import Catalog

from benchmarks.fleet_rows import ASKED_AT_MS, DAYS, EVENTS_A_MESSAGE, FleetOfRows
from benchmarks.kept_numbers import write_numbers
from fleetlane.events.canonical import (
    EventTime,
    TimeQuality,
    canonical_tail,
    event_data,
    message_prefix,
)
from fleetlane.events.envelope import Message
from fleetlane.events.lake.tables import DAILY
from fleetlane.events.lanes import Lane
from fleetlane.events.times import DAY_MS, day_of
from local.checkout import ROOT
from operations.fleet import devices, traffic
from operations.fleet.fleet import HISTORY_DAYS, QUERIED, Fleet, rows_of
from operations.fleet.questions import Question
from operations.report.page import write_report

BENCH: Final = ROOT / "build" / "bench"
MESSAGES: Final = 5_000_000
FLEET: Final = FleetOfRows(devices=20_000, messages=MESSAGES)
WEEK: Final = 7
TIMES: Final = 3

QUESTIONS: Final[Mapping[str, Question]] = {
    "coverage": devices.COVERAGE,
    "coverage_by_day": devices.COVERAGE_BY_DAY,
    "silent": devices.SILENT,
    "late": traffic.LATE,
    "lags": traffic.LAGS,
    "sizes": traffic.SIZES,
    "size_bins": traffic.SIZE_BINS,
    "compression": traffic.COMPRESSION,
    "by_firmware": traffic.FIRMWARE,
    "parse_times": traffic.PARSERS,
    "gaps": devices.GAPS,
    "one_device": replace(devices.DEVICE_DAYS, parameters={"device_id": "d-00123"}),
}


def main() -> None:
    arguments = argparse.ArgumentParser(description=__doc__)
    arguments.add_argument("--output", type=Path, default=BENCH / "fleet.json")
    output: Path = arguments.parse_args().output
    devices = list(FLEET.registered_devices())
    with closing(FLEET.cached_lake(BENCH / "fleet-lake")) as catalog:
        began_s = time.perf_counter()
        with Fleet(catalog, devices, asked_at_ms=ASKED_AT_MS) as fleet:
            write_report(fleet, BENCH / "fleet-report.html")
        report_s = time.perf_counter() - began_s
        with Fleet(catalog, devices, asked_at_ms=ASKED_AT_MS) as fleet:
            week, month = (_seconds(fleet, days) for days in (WEEK, DAYS))
        file_bytes = _file_bytes(catalog)
    canonical_bytes = MESSAGES * EVENTS_A_MESSAGE * _canonical_record_bytes()
    numbers = {
        "slowest_query_s": max(*week.values(), *month.values()),
        "slowest_query_7_days_s": max(week.values()),
        "report_s": round(report_s, 3),
        "bytes_read_to_canonical": round(file_bytes / canonical_bytes, 5),
        "file_bytes": file_bytes,
        "queries_7_days_s": week,
        "queries_30_days_s": month,
    }
    sys.stdout.write(write_numbers(output, numbers))


def _file_bytes(catalog: Catalog) -> int:
    """The size of all files that a question may read."""
    since = day_of(ASKED_AT_MS - HISTORY_DAYS * DAY_MS)
    tables = [rows_of(catalog, one, since=date.min if one is DAILY else since) for one in QUERIED]
    paths = (location.removeprefix("file://") for table in tables for location, _ in table.files)
    return sum(Path(one).stat().st_size for one in paths)


def _canonical_record_bytes() -> int:
    """The size of an event of two numbers, as the parse job writes it."""
    message = Message(
        raw_id=f"1{0:032x}",
        device_id="d-00123",
        stream="stream-1",
        lane=Lane.STANDARD,
        arrival_millis=ASKED_AT_MS,
        body=b"",
        body_bytes=0,
    )
    when = EventTime(millis=ASKED_AT_MS, quality=TimeQuality.OK, bucket_millis=ASKED_AT_MS)
    tail = canonical_tail(when, event_data({"celsius": 21.57, "volts": 3.291}))
    prefix = message_prefix(message, parser="parser-1@1.0.0")
    return len(b'%b,"id":"%b-0",%b' % (prefix, message.raw_id.encode(), tail))


def _seconds(fleet: Fleet, days: int) -> dict[str, float]:
    return {name: _median_s(fleet, question, days) for name, question in QUESTIONS.items()}


def _median_s(fleet: Fleet, question: Question, days: int) -> float:
    taken_s = []
    for _ in range(TIMES):
        began_s = time.perf_counter()
        fleet.ask(question, days=days)
        taken_s.append(time.perf_counter() - began_s)
    return round(statistics.median(taken_s), 3)


if __name__ == "__main__":
    main()
