"""What an account lacks for a stage, before anything of it is made."""

from collections.abc import Callable, Iterator
from functools import partial
from typing import Final

from clients.account import AccountUnavailableError, AwsAccount
from fleetlane.events.job_arguments import Engine
from infra.stages import Stage
from local.setup.doctor import MISSING, OK, Finding

FUNCTIONS_LEFT_FREE: Final = 100
"""Lambda does not let functions reserve the last of an account."""
_FUNCTIONS: Final = f"functions at once, {FUNCTIONS_LEFT_FREE} left free"

_EMR_VCPUS: Final = ("EMR vCPUs", "emr-serverless", "L-D05C8A75", 4)
_GLUE_DPUS: Final = ("Glue DPUs", "glue", "L-08F3B322", 1)
"""A quota, how Service Quotas calls it, and how much of it each worker takes."""

_QUOTAS_PAGE: Final = "ask for more in Service Quotas, which may take days"

type _Said = tuple[str, str]
"""What there is, and the remedy; as in ``Finding``."""


def lacking(stage: Stage, account: AwsAccount) -> Iterator[Finding]:
    """Check one thing after the other; changes nothing. What AWS does not say is lacking."""
    functions = stage.reserved_concurrency + FUNCTIONS_LEFT_FREE
    not_there = "not there", f"cdk bootstrap -c stage={stage.name}"
    what, service, code, each = _EMR_VCPUS if stage.engine is Engine.EMR else _GLUE_DPUS
    checks: list[tuple[str, Callable[[], _Said]]] = [
        ("account", lambda: _number(stage, account.number())),
        ("zones", lambda: _zones(stage, account.zones())),
        ("bootstrap", lambda: ("there", "") if account.is_bootstrapped() else not_there),
        ("functions", lambda: _enough(_FUNCTIONS, functions, account.functions_at_once())),
        ("requests", lambda: _enough("requests/s", stage.requests_per_s, account.requests_per_s())),
        (what, lambda: _enough(what, stage.workers * each, account.quota(service, code))),
        ("e-mail", lambda: _email(stage)),
    ]
    if stage.device_domain is not None:
        certificate, file = stage.device_domain.certificate_arn, stage.device_domain.truststore_uri
        checks += [
            ("certificate", partial(_certificate, certificate, account)),
            ("truststore", partial(_file, file, account)),
        ]
    for name, check in checks:
        try:
            said, remedy = check()
        except AccountUnavailableError as problem:
            said, remedy = str(problem), "look it up, or use credentials that may ask"
        yield Finding(name, MISSING if remedy else OK, said, remedy)


def _number(stage: Stage, number: str) -> _Said:
    if stage.account == number:
        return number, ""
    if stage.account is not None:
        return f"{number} is not {stage.account}", f"use credentials of {stage.name}'s account"
    remedy = f"set `account` of {stage.name} in infra/stages.toml, so that no other is deployed to"
    return f"{number}; the stage names none", remedy if stage.keeps_data else ""


def _zones(stage: Stage, zones: set[str]) -> _Said:
    missing = [zone for zone in stage.availability_zones if zone not in zones]
    if missing:
        return f"no {', '.join(missing)}", "change `availability_zones` in infra/stages.toml"
    return ", ".join(stage.availability_zones), ""


def _enough(what: str, needed: int, limit: int) -> _Said:
    return f"{needed} of {limit} {what}", "" if needed <= limit else _QUOTAS_PAGE


def _email(stage: Stage) -> _Said:
    if stage.alarm_email is None:
        return "alarms reach nobody", f"set `alarm_email` of {stage.name} in infra/stages.toml"
    return stage.alarm_email, ""


def _certificate(arn: str, account: AwsAccount) -> _Said:
    state = account.certificate_state(arn)
    return f"{arn} is {state}", "" if state == "ISSUED" else "finish its validation in ACM"


def _file(url: str, account: AwsAccount) -> _Said:
    account.read(url)
    return url, ""
