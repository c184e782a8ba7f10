"""``fleetlane doctor``: what this machine lacks to run the platform, and what to do."""

import os
import time
from typing import Annotated

import typer

from local.checkout import ROOT
from local.setup.doctor import examine, report
from local.setup.steps import Checkout


def doctor(
    *, as_json: Annotated[bool, typer.Option("--json", help="JSON, for a script.")] = False
) -> None:
    """Check this machine; changes nothing. Exit code 1: something is missing.

    "later" marks what the set-up installs by itself once it is needed.
    """
    checkout = Checkout(root=ROOT, environment=dict(os.environ))  # noqa: TID251 - the set-up's own
    raise typer.Exit(report(examine(checkout, clock_s=time.time), typer.echo, as_json=as_json))
