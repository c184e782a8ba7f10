"""How long commands take their user, from the shell's start of them to their end.

On the demo's data: the demo runs first, into a folder of its own, then a platform on that folder,
which has a minute to come to rest. Medians of ten, each after one that counts for nothing:
bytecode is warm. ``bare_ms`` is Python's own start. With ``--without-platform`` only what needs
none is measured.
"""

import argparse
import signal
import statistics
import subprocess
import sys
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Final

import duckdb

from benchmarks.kept_numbers import write_numbers
from clients.lake.laptop_lake import LaptopLake
from fleetlane.events.errors import FleetlaneError
from fleetlane.events.lake.tables import MADE_UP, RECEIVED
from local.checkout import ROOT
from local.data_folder import endpoints_of
from operations.endpoints import LAKE_CATALOG

TIMES: Final = 10
DATA: Final = ROOT / "build" / "demo" / "data"
COMMAND: Final = str(Path(sys.executable).with_name("fleetlane"))
START_S: Final = 300
CALM_AFTER_S: Final = 60
STOP_S: Final = 120


def main() -> None:
    arguments = argparse.ArgumentParser(description=__doc__)
    arguments.add_argument("--output", type=Path, default=ROOT / "build" / "bench" / "cli.json")
    arguments.add_argument("--without-platform", action="store_true")
    given = arguments.parse_args()
    numbers = {"bare_ms": median_ms([sys.executable, "-c", "pass"]), **of_commands(HELP)}
    if not given.without_platform:
        subprocess.run([COMMAND, "demo"], check=True)  # noqa: S603
        with platform_on(DATA):
            numbers |= of_commands(asked_of_platform())
    sys.stdout.write(write_numbers(given.output, numbers))


HELP: Final[Mapping[str, Sequence[str]]] = {
    "help_ms": ("--help",),
    "group_help_ms": ("parser", "--help"),
    "flow_check_ms": ("flow", "check", str(ROOT / "flows")),
}


def asked_of_platform() -> Mapping[str, Sequence[str]]:
    """Commands by the names of their numbers, about a message that the demo's fleet sent."""
    rows = LaptopLake(catalog=DATA / LAKE_CATALOG).rows(RECEIVED)
    found = duckdb.execute(f"select id from {rows} where source_topic != ? limit 1", [MADE_UP])  # noqa: S608
    (raw_id,) = found.fetchone() or ("",)
    where = ("--data", str(DATA))
    return {
        "coverage_ms": ("fleet", "coverage", *where),
        "why_ms": ("why", raw_id, *where),
        "publish_ms": ("flow", "publish", str(ROOT / "flows"), "--yes", *where),
    }


def of_commands(commands: Mapping[str, Sequence[str]]) -> dict[str, float]:
    return {name: median_ms([COMMAND, *words]) for name, words in commands.items()}


def median_ms(command: Sequence[str]) -> float:
    """What a command takes; raises ``CalledProcessError`` where it fails."""
    taken_ms = []
    for _ in range(1 + TIMES):
        began_s = time.perf_counter()
        nowhere = subprocess.DEVNULL
        subprocess.run(command, check=True, stdout=nowhere, stdin=nowhere)  # noqa: S603
        taken_ms.append((time.perf_counter() - began_s) * 1000)
    return round(statistics.median(taken_ms[1:]), 1)


@contextmanager
def platform_on(folder: Path) -> Iterator[None]:
    """Run ``fleetlane up`` on a folder; raises ``TimeoutError`` where it does not start."""
    platform = subprocess.Popen([COMMAND, "up", "--data", str(folder)])  # noqa: S603
    try:
        until_s = time.monotonic() + START_S
        while not _answers(folder):
            if platform.poll() is not None or time.monotonic() > until_s:
                raise TimeoutError(f"no platform on {folder}")
            time.sleep(0.5)
        time.sleep(CALM_AFTER_S)
        yield
    finally:
        platform.send_signal(signal.SIGINT)
        platform.wait(STOP_S)


def _answers(folder: Path) -> bool:
    try:
        endpoints_of(folder)
    except FleetlaneError:
        return False
    return True


if __name__ == "__main__":
    main()
