"""``fleetlane up``: the whole platform on this machine, until Ctrl-C."""

import json
import shlex
import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console

from fleetlane.cli.options.stage import DataOption, data_folder
from fleetlane.cli.output.record_text import fields_of
from fleetlane.cli.output.waiting import StepsShown
from fleetlane.events.canary import INTERVAL_MS
from fleetlane.events.lanes import LaneTrigger
from fleetlane.events.times import now_ms, rfc3339
from local.data_folder import announced, taken_data_folder
from local.platform import Platform, PlatformSettings
from local.spark.jobs import SLOW_PARSE_MS_MAX, jobs_of
from operations.endpoints import Endpoints


def up(
    *,
    data: DataOption = None,
    fresh: Annotated[bool, typer.Option(help="Empty the data folder first.")] = False,
    real_time: Annotated[
        bool, typer.Option(help="Parse the fast lane's messages one by one.")
    ] = False,
    slow_parse_seconds: Annotated[
        float,
        typer.Option(min=0.1, max=60, help="How long the slow lane allows a message; 60 in AWS."),
    ] = SLOW_PARSE_MS_MAX / 1000,
) -> None:
    """Start the platform and stay; Ctrl-C stops it.

    The addresses are printed, and written to endpoints.json in the data folder. What dies is
    restarted. Data survives a stop, including published flows; the checkout's own flows are put
    into force unless they were before.
    """
    folder = data_folder(data)

    trigger = LaneTrigger.REAL_TIME if real_time else LaneTrigger.MICRO_BATCHES
    jobs = jobs_of(fast_trigger=trigger, slow_parse_ms_max=round(slow_parse_seconds * 1000))
    settings = PlatformSettings(folder=folder, canary_interval_ms=INTERVAL_MS, jobs=jobs)
    with taken_data_folder(folder, fresh=fresh), sigterm_as_ctrl_c():
        try:
            with Platform(settings) as platform:
                _run(platform, data)
        except KeyboardInterrupt:
            typer.echo(f"stopped; the data stays in {folder}")


@contextmanager
def sigterm_as_ctrl_c() -> Iterator[None]:
    """Raise ``KeyboardInterrupt`` on SIGTERM too, for the block; main thread only."""
    before = signal.signal(signal.SIGTERM, signal.default_int_handler)
    try:
        yield
    finally:
        signal.signal(signal.SIGTERM, before)


def _run(platform: Platform, data: Path | None) -> None:
    notes = Console(stderr=True)
    with StepsShown(notes) as on_step:
        endpoints = platform.start(on_step)
    with announced(endpoints, platform.settings.folder):
        typer.echo(f"{addresses(endpoints)}\nconsole   {platform.start_console()}")
        typer.echo("\nTry, in another terminal:")
        for command in commands_to_try(data, now_millis=now_ms()):
            typer.echo(f"  {command}")
        typer.echo("\nThe first message takes longest: Spark is still starting. Ctrl-C stops it.")
        try:
            platform.keep_running(
                until=threading.Event(),
                on_restart=lambda name: notes.print(f"{name} died; it is restarted"),
            )
        finally:
            notes.print("stopping …")


def addresses(endpoints: Endpoints) -> str:
    rows = fields_of(endpoints, "api kafka s3 dynamodb")
    return "\n".join(f"{name:<10}{address}" for name, address in rows.items())


def commands_to_try(data: Path | None, *, now_millis: int) -> list[str]:
    """Three commands for this platform, by which a tracker's position becomes an event."""
    option = "" if data is None else f" --data {shlex.quote(str(data))}"
    position = json.dumps({"at": rfc3339(now_millis), "lat": 47.37, "lon": 8.54})
    return [
        f"./fleetlane device add my-device{option}",
        f"echo '{position}' | ./fleetlane send gps - --device my-device{option}",
        f"./fleetlane tail canonical.gps --from-beginning{option}",
    ]
