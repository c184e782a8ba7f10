"""``fleetlane console``: a platform's pages in a browser, until Ctrl-C."""

import secrets
from typing import Annotated

import typer

from fleetlane.cli.near_kafka import is_near_kafka
from fleetlane.cli.options.selection import BadOptionsError
from fleetlane.cli.options.stage import PlatformOptions
from operations.console.app import ConsoleApp, serve
from operations.console.pages import Pages
from operations.console.replays import Replays
from operations.endpoints import CONSOLE_TOKEN


def console(
    *,
    port: Annotated[
        int, typer.Option(min=0, max=65_535, help="Of this machine; 0 is a free one.")
    ] = 0,
    token: Annotated[
        str, typer.Option(envvar=CONSOLE_TOKEN, default_factory=secrets.token_urlsafe, hidden=True)
    ],
    allow_replay: Annotated[
        bool, typer.Option(help="Whoever may look may replay parked messages.")
    ] = False,
    where: PlatformOptions,
) -> None:
    """Serve pages of flows, devices, messages and the ledger; Ctrl-C stops it.

    Whoever has the address may look. A stage's lack what is in Kafka, unless this runs near it.
    """
    platform = where.platform()
    has_kafka = is_near_kafka() or platform.operator_host is None
    if allow_replay and not has_kafka:
        raise BadOptionsError("--allow-replay needs Kafka, which cannot be reached from here")
    replays = Replays(platform, token=token) if allow_replay else None
    app = ConsoleApp(Pages(platform, has_kafka=has_kafka), token=token, replays=replays)
    serve(app.starlette(), port=port, token=token, on_address=typer.echo)
