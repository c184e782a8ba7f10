"""``fleetlane doctor``: what this machine, or an account for a stage, lacks, and what to do."""

import os
import time
from typing import Annotated

import typer

from clients.account import AwsAccount
from infra.stages import settings_of, stage_from
from local.checkout import ROOT
from local.readiness import lacking
from local.setup.doctor import examine, report
from local.setup.steps import Checkout


def doctor(
    *,
    stage: Annotated[
        str | None, typer.Option(metavar="NAME", help="Check your AWS account for this stage.")
    ] = None,
    as_json: Annotated[bool, typer.Option("--json", help="JSON, for a script.")] = False,
) -> None:
    """Check this machine; changes nothing. Exit code 1: something is missing.

    "later" marks what the set-up installs by itself once it is needed. With --stage it is your
    credentials' account that is checked: quotas, certificates and all else that a deploy needs.
    """
    if stage is None:
        checkout = Checkout(root=ROOT, environment=dict(os.environ))  # noqa: TID251 - the set-up's own
        findings = examine(checkout, clock_s=time.time)
    else:
        described = stage_from(stage, settings_of(stage))
        findings = lacking(described, AwsAccount(described.region))
    raise typer.Exit(report(findings, typer.echo, as_json=as_json))
