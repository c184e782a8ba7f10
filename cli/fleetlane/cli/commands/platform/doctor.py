"""``fleetlane doctor``: what this machine, or an account for a stage, lacks, and what to do."""

import os
import time
from collections.abc import Iterator
from typing import Annotated

import typer

from clients.account import AwsAccount
from infra.stages import Engine, Stage, settings_of, stage_from
from local.checkout import ROOT
from local.setup.doctor import MISSING, OK, Finding, examine, report
from local.setup.steps import Checkout
from operations.readiness import Quota, StageNeeds, lacking


def doctor(
    *,
    stage: Annotated[
        str | None,
        typer.Option("--stage", metavar="NAME", help="Check your AWS account for this stage."),
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
        findings = _of_account(stage_from(stage, settings_of(stage)))
    raise typer.Exit(report(findings, typer.echo, as_json=as_json))


def _of_account(stage: Stage) -> Iterator[Finding]:
    for one in lacking(_needs(stage), AwsAccount(stage.region)):
        yield Finding(one.name, MISSING if one.remedy else OK, one.said, one.remedy)


def _needs(stage: Stage) -> StageNeeds:
    domain = stage.device_domain
    return StageNeeds(
        stage=stage.name,
        account=stage.account,
        zones=stage.availability_zones,
        functions_at_once=stage.reserved_concurrency,
        requests_per_s=stage.requests_per_s,
        quota=_quota(stage),
        certificates=(domain.certificate_arn,) if domain else (),
        files=(domain.truststore_uri,) if domain else (),
        alarm_email=stage.alarm_email,
        keeps_data=stage.keeps_data,
    )


def _quota(stage: Stage) -> Quota:
    if stage.engine is Engine.EMR:
        cpus = 4 * stage.workers
        return Quota(name="EMR vCPUs", service="emr-serverless", code="L-D05C8A75", needed=cpus)
    return Quota(name="Glue DPUs", service="glue", code="L-08F3B322", needed=stage.workers)
