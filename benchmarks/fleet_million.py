"""A fleet of a million: how long questions and the report take, and the memory of the process.

A million devices are registered, and ``daily`` has 30 million rows of 30 days. ``received`` and
``parsed`` have as many, a message a device, stream and day, and ``parked`` has 1 % of them:
fewer than such a fleet leaves there, for one that sends every hour has 24 times as many.

Questions are asked as the commands ask them, each in a lake opened anew, its planning included;
what counts is the median of three. All about one device share a process, and so do all about the
fleet, and the report has one. ``one_device_growth`` is a million's over that of 100,000.

Devices come out of an iterator, whose own time is not counted: a scan of DynamoDB's cannot be
measured here. How many pages and read units it takes is computed from the size of items, and how
long boto3 reads such pages, without a network, is measured with 100,000 devices.
"""

import argparse
import json
import resource
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import closing
from dataclasses import dataclass
from functools import partial
from itertools import batched, islice
from pathlib import Path
from typing import Any, Final

from benchmarks.fleet_rows import ASKED_AT_MS, FleetOfRows
from benchmarks.kept_numbers import write_numbers
from benchmarks.registry_scan import scan_numbers
from clients.devices.registry import RegisteredDevice
from fleetlane.events.lake.tables import DAILY
from local.checkout import ROOT
from operations.fleet import devices, traffic
from operations.fleet.fleet import HISTORY_DAYS, Fleet
from operations.fleet.issues import ISSUES
from operations.fleet.questions import Question
from operations.report.page import REPORT_DAYS, write_report

BENCH: Final = ROOT / "build" / "bench"
MILLION: Final = 1_000_000
FEWER: Final = 100_000
TIMES: Final = 3
_AT_ONCE: Final = 10_000

ABOUT_ONE: Final = {
    "device": devices.DEVICE,
    "device_by_day": devices.DEVICE_DAYS,
    "device_gaps": devices.GAPS,
}
ABOUT_ALL: Final = {
    "silent": (devices.SILENT, REPORT_DAYS),
    "coverage_by_day": (devices.COVERAGE_BY_DAY, HISTORY_DAYS),
    "coverage_by_firmware": (devices.COVERAGE_BY_FIRMWARE, 2),
    "late": (traffic.LATE, REPORT_DAYS),
    "lags": (traffic.LAGS, REPORT_DAYS),
    "size_bins": (traffic.SIZE_BINS, REPORT_DAYS),
    "sizes": (traffic.SIZES, REPORT_DAYS),
    "outsized": (traffic.OUTSIZED, REPORT_DAYS),
    "compression": (traffic.COMPRESSION, REPORT_DAYS),
    "by_firmware": (traffic.FIRMWARE, REPORT_DAYS),
    "parse_times": (traffic.PARSERS, REPORT_DAYS),
    "issues": (ISSUES, REPORT_DAYS),
}
"""With the days that their commands ask for."""

type Asked = Callable[[Fleet], object]


@dataclass(slots=True)
class Registry:
    """Devices, and the seconds that it took to give them."""

    devices: Iterable[RegisteredDevice]
    gave_for_s: float = 0

    def __iter__(self) -> Iterator[RegisteredDevice]:
        blocks = batched(self.devices, _AT_ONCE, strict=False)
        while True:
            began_s = time.perf_counter()
            block = next(blocks, ())
            self.gave_for_s += time.perf_counter() - began_s
            if not block:
                return
            yield from block


@dataclass(frozen=True, slots=True, kw_only=True)
class Asker:
    """Asks a fleet's lake below a folder; gives seconds, by question."""

    fleet: FleetOfRows
    folder: Path

    def about_one(self) -> dict[str, float]:
        (device,) = islice(self.fleet.registered_devices(), self.fleet.devices // 2, None, MILLION)
        given = {"days": HISTORY_DAYS, "device_id": device.device_id}
        return {
            name: self._median_s(_asking(one, **given), [device]) for name, one in ABOUT_ONE.items()
        }

    def about_all(self) -> dict[str, float]:
        asked: dict[str, Asked] = {"coverage": devices.coverage}
        asked |= {name: _asking(one, days=days) for name, (one, days) in ABOUT_ALL.items()}
        return {name: self._median_s(ask) for name, ask in asked.items()}

    def report(self) -> dict[str, float]:
        with tempfile.TemporaryDirectory() as folder:
            page = Path(folder) / "report.html"
            return {"report": self._median_s(partial(write_report, path=page))}

    def _median_s(self, ask: Asked, known: Iterable[RegisteredDevice] | None = None) -> float:
        return round(statistics.median(self._taken_s(ask, known) for _ in range(TIMES)), 3)

    def _taken_s(self, ask: Asked, known: Iterable[RegisteredDevice] | None) -> float:
        registry = Registry(self.fleet.registered_devices() if known is None else known)
        with closing(self.fleet.cached_lake(self.folder)) as catalog:
            began_s = time.perf_counter()
            with Fleet(catalog, registry, asked_at_ms=ASKED_AT_MS) as fleet:
                ask(fleet)
            return time.perf_counter() - began_s - registry.gave_for_s


def _asking(question: Question, **given: Any) -> Asked:
    return lambda fleet: fleet.ask(question, **given)


def main() -> None:
    arguments = argparse.ArgumentParser(description=__doc__)
    arguments.add_argument("--output", type=Path, default=BENCH / "fleet_million.json")
    arguments.add_argument("--lakes", type=Path, default=BENCH, help="where the lakes are kept")
    arguments.add_argument("--devices", type=int, default=MILLION)
    arguments.add_argument("--fewer", type=int, default=FEWER)
    arguments.add_argument("--ask", choices=["about_one", "about_all", "report"], help="of a child")
    given = arguments.parse_args()
    if given.ask is not None:
        asker = Asker(fleet=FleetOfRows(devices=given.devices), folder=given.lakes)
        asks = {"about_one": asker.about_one, "about_all": asker.about_all, "report": asker.report}
        seconds = asks[given.ask]()
        peak_mib = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
        sys.stdout.write(json.dumps({"seconds": seconds, "peak_mib": round(peak_mib)}))
        return
    numbers = _numbers(given.lakes.resolve(), given.devices, given.fewer)
    sys.stdout.write(write_numbers(given.output, numbers | scan_numbers(given.fewer)))


def _numbers(lakes: Path, many: int, fewer: int) -> dict[str, object]:
    folders = {devices: lakes / f"fleet-lake-{devices}" for devices in (many, fewer)}
    rows = {devices: _daily_rows(devices, folder) for devices, folder in folders.items()}
    one, one_of_fewer = (_asked("about_one", *made) for made in folders.items())
    everyone, report = (_asked(ask, many, folders[many]) for ask in ("about_all", "report"))
    one_device_s, fewer_s = (max(asked["seconds"].values()) for asked in (one, one_of_fewer))
    return {
        "one_device_s": one_device_s,
        "fleet_wide_s": max(everyone["seconds"].values()),
        "report_s": report["seconds"]["report"],
        "peak_mib": max(asked["peak_mib"] for asked in (one, everyone, report)),
        "one_device_growth": round(one_device_s / fewer_s, 3),
        "daily_rows": rows[many],
        "one_device_questions_s": one["seconds"],
        "one_device_questions_of_fewer_s": one_of_fewer["seconds"],
        "fleet_wide_questions_s": everyone["seconds"],
        "peak_mib_by_process": {
            "one_device": one["peak_mib"],
            "fleet_wide": everyone["peak_mib"],
            "report": report["peak_mib"],
        },
    }


def _daily_rows(devices: int, folder: Path) -> int:
    """How many the table has; makes the lake where it is missing."""
    with closing(FleetOfRows(devices=devices).cached_lake(folder)) as catalog:
        files = catalog.load_table(DAILY.identifier).scan().plan_files()
        return sum(one.file.record_count for one in files)


def _asked(ask: str, devices: int, folder: Path) -> Mapping[str, Any]:
    """What a process of its own answers."""
    child = [sys.executable, "-m", "benchmarks.fleet_million", "--ask", ask]
    lake = ["--devices", str(devices), "--lakes", str(folder)]
    done = subprocess.run([*child, *lake], capture_output=True, text=True, check=True)  # noqa: S603 - ours
    answer: Mapping[str, Any] = json.loads(done.stdout)
    return answer


if __name__ == "__main__":
    main()
