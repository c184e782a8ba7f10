"""How quickly the console answers: a graph of 200 flows, and its pages while a fleet sends.

A platform of its own takes the demo's herd, round after round. Pages are asked for one after
another: ``page_p95_ms`` is of all of them, ``pages_ms`` has p50 and p95 of each. Some answers are
kept for seconds, so each is asked for after those have passed; what is up to a minute old is given
while the next is found, as to whoever loads a page. ``idle_cpu_share`` is what the
console's process takes of a core while nobody looks. ``graph_200_s`` is the median time until a
page of 200 flows is written; ``--picture`` keeps the top of that page as PNG.
"""

import argparse
import shutil
import statistics
import sys
import threading
import time
from collections import defaultdict
from collections.abc import Iterator, Mapping
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Final

import httpx
from playwright.sync_api import sync_playwright

from benchmarks.kept_numbers import write_numbers
from benchmarks.latency.percentiles import percentile_ms
from benchmarks.running.process_tree import tree_cpu_s
from fleetlane.events.flows.files import flow_from_toml
from fleetlane.events.lanes import Lane
from fleetlane.events.times import now_ms
from local.checkout import ROOT
from local.data_folder import announced, taken_data_folder
from local.platform import Platform, PlatformSettings
from local.servers.gateway_process import LocalConsole
from local.simulator.http_api import HttpApi
from local.simulator.sendings import FleetPlan
from local.simulator.simulator import run_fleet
from operations.console.app import ConsoleApp
from operations.console.pages import Page, Pages, picture_of
from operations.lanes.status import LaneStatus, Status
from operations.lanes.tally import LaneCounts
from operations.platform import Platform as OperatorsPlatform

BENCH: Final = ROOT / "build" / "bench"
PATHS: Final = ("/", "/flows/gps", "/devices", "/devices/{device}", "/parked", "/ledger", "/fleet")
FLOWS: Final = 200
GRAPHS: Final = 9
DEVICES: Final = 2_000
ROUND_S: Final = 20.0
SETTLES_S: Final = 60.0
STALE_AFTER_S: Final = 3.0
P95: Final = 0.95


def main() -> None:
    arguments = argparse.ArgumentParser(description=__doc__)
    arguments.add_argument("--output", type=Path, default=BENCH / "console.json")
    arguments.add_argument("--seconds", type=float, default=180)
    arguments.add_argument("--picture", type=Path, metavar="FILE")
    given = arguments.parse_args()
    folder = BENCH / "console"
    with (
        taken_data_folder(folder, fresh=True),
        Platform(PlatformSettings(folder=folder)) as platform,
    ):
        endpoints = platform.start(lambda step: print(f"starting {step}", file=sys.stderr))  # noqa: T201
        operators = OperatorsPlatform.on_laptop(endpoints, folder)
        numbers: dict[str, object] = {"graph_200_s": graph_s(Pages(operators), given.picture)}
        console = LocalConsole(folder)
        with announced(endpoints, folder), herd(platform):
            console.start()
            try:
                time.sleep(SETTLES_S)
                numbers["idle_cpu_share"] = round(cpu_share(console, given.seconds / 6), 3)
                numbers |= pages_ms(console.url, operators, given.seconds)
            finally:
                console.stop()
    sys.stdout.write(write_numbers(given.output, numbers))


def graph_s(pages: Pages, picture: Path | None) -> float:
    """The median time from 200 flows, and what Kafka says of them, to the whole page."""
    app, took_s, written = ConsoleApp(pages, token=""), [], ""
    flows = [
        flow_from_toml(
            f'stream = "stream-{number:03}"\nowner = "team-{number % 17}"\n'
            f'lane = "{(Lane.FAST, Lane.STANDARD, Lane.SLOW)[number % 3]}"\n'
            f'[[parsers]]\nuse = "json"\n',
            file=f"stream-{number:03}.toml",
        )
        for number in range(FLOWS)
    ]
    status = Status(
        at_ms=now_ms(),
        window_s=60.0,
        lanes=tuple(
            LaneStatus(
                lane=one, parsed_per_s=81.5, parked_percent=0.4, waiting=17, oldest_arrival_ms=None
            )
            for one in Lane
        ),
        queries=(),
        streams={one.stream: LaneCounts(parsed=7 * at, parked=1) for at, one in enumerate(flows)},
    )
    for _ in range(GRAPHS):
        began_s = time.perf_counter()
        shown = {"flows": flows, "status": status, "picture": picture_of(flows, status)}
        written = app.written(Page(title="Flows", template="flows.html.j2", shown=shown))
        took_s.append(time.perf_counter() - began_s)
    if picture is not None:
        photograph(written, picture)
    return round(statistics.median(took_s), 3)


def photograph(page: str, picture: Path) -> None:
    html = picture.with_suffix(".html").absolute()
    html.write_text(page, encoding="utf-8")
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(
            executable_path=shutil.which("chromium-headless-shell")
        )
        shown = browser.new_page(viewport={"width": 1580, "height": 1060})
        shown.goto(html.as_uri())
        shown.screenshot(path=picture)
        browser.close()
    html.unlink()


@contextmanager
def herd(platform: Platform) -> Iterator[None]:
    """The demo's fleet sends, round after round, until the block is over."""
    over = threading.Event()

    def send() -> None:
        rounds = 0
        with closing(HttpApi(platform.endpoints.api)) as api:
            while not over.is_set():
                plan = FleetPlan(devices=DEVICES, seconds=ROUND_S, round_number=rounds)
                run_fleet(plan, api, registry=platform.registry)
                rounds += 1

    sender = threading.Thread(target=send)
    sender.start()
    try:
        yield
    finally:
        over.set()
        sender.join()


def cpu_share(console: LocalConsole, seconds: float) -> float:
    """Of one core."""
    assert console.pid is not None, "it was started"
    before_s = tree_cpu_s(console.pid)
    time.sleep(seconds)
    return (tree_cpu_s(console.pid) - before_s) / seconds


def pages_ms(address: str, platform: OperatorsPlatform, seconds: float) -> Mapping[str, object]:
    """Each page once counts for nothing: what it needs is imported then."""
    device = next(iter(platform.registry.ids("")))
    took_ms: defaultdict[str, list[int]] = defaultdict(list)
    with httpx.Client(follow_redirects=True, timeout=60, trust_env=False) as browser:
        first = browser.get(address).raise_for_status()
        until_s = time.monotonic() + seconds
        while time.monotonic() < until_s:
            for path in PATHS:
                began_s = time.perf_counter()
                browser.get(str(first.url.join(path.format(device=device))))
                took_ms[path].append(round(1_000 * (time.perf_counter() - began_s)))
            time.sleep(STALE_AFTER_S)
    counted = {path: found[1:] for path, found in took_ms.items()}
    every = [one for found in counted.values() for one in found]
    return {
        "page_p95_ms": percentile_ms(every, P95),
        "pages": len(every),
        "pages_ms": {
            path: {"p50": percentile_ms(found, 0.5), "p95": percentile_ms(found, P95)}
            for path, found in counted.items()
        },
    }


if __name__ == "__main__":
    main()
