"""``fleetlane console``: a platform's pages in a browser, until Ctrl-C."""

import secrets
from typing import Annotated

import typer

from fleetlane.cli.near_kafka import is_near_kafka
from fleetlane.cli.options.stage import PlatformOptions
from operations.console.app import serve
from operations.console.pages import Pages
from operations.endpoints import CONSOLE_TOKEN


def console(
    *,
    port: Annotated[
        int, typer.Option(min=0, max=65_535, help="Of this machine; 0 is a free one.")
    ] = 0,
    token: Annotated[
        str, typer.Option(envvar=CONSOLE_TOKEN, default_factory=secrets.token_urlsafe, hidden=True)
    ],
    where: PlatformOptions,
) -> None:
    """Serve pages of flows, devices, messages and the ledger; Ctrl-C stops it.

    Whoever has the address may look. A stage's lack what is in Kafka, unless this runs near it.
    """
    platform = where.platform()
    has_kafka = is_near_kafka() or platform.operator_host is None
    serve(Pages(platform, has_kafka=has_kafka), port=port, token=token, on_address=typer.echo)
