"""What an account lacks for a stage, before anything of it is made."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial
from typing import Final, Protocol

from clients.account import AccountUnavailableError

FUNCTIONS_LEFT_FREE: Final = 100
"""Lambda does not let functions reserve the last of an account."""

_QUOTAS_PAGE: Final = "ask for more in Service Quotas, which may take days"


@dataclass(frozen=True, slots=True, kw_only=True)
class Quota:
    """How much of one the stage needs. ``code`` is how Service Quotas calls it."""

    name: str
    service: str
    code: str
    needed: int


@dataclass(frozen=True, slots=True, kw_only=True)
class StageNeeds:
    """``account`` is which the stage names. ``files`` are ``s3://`` URLs that the deploy reads."""

    stage: str
    account: str | None
    zones: tuple[str, ...]
    functions_at_once: int
    requests_per_s: int
    quota: Quota
    certificates: tuple[str, ...]
    files: tuple[str, ...]
    alarm_email: str | None
    keeps_data: bool


class Account(Protocol):
    """``AwsAccount``."""

    def number(self) -> str: ...
    def zones(self) -> set[str]: ...
    def is_bootstrapped(self) -> bool: ...
    def functions_at_once(self) -> int: ...
    def requests_per_s(self) -> int: ...
    def quota(self, service: str, code: str) -> int: ...
    def certificate_state(self, arn: str) -> str: ...
    def read(self, url: str) -> None: ...


@dataclass(frozen=True, slots=True, kw_only=True)
class Finding:
    """``remedy`` is empty where nothing is to be done."""

    name: str
    said: str
    remedy: str = ""


type _Said = tuple[str, str]
"""What there is, and the remedy; as in ``Finding``."""


def lacking(needs: StageNeeds, account: Account) -> Iterator[Finding]:
    """Check one thing after the other; changes nothing. What AWS does not say is lacking."""
    quota, certificates, files = needs.quota, needs.certificates, needs.files
    checks: list[tuple[str, Callable[[], _Said]]] = [
        ("account", lambda: _number(needs, account.number())),
        ("zones", lambda: _zones(needs, account.zones())),
        ("bootstrap", lambda: _bootstrap(needs, is_there=account.is_bootstrapped())),
        ("functions", lambda: _functions(needs, account.functions_at_once())),
        ("requests", lambda: _enough("requests/s", needs.requests_per_s, account.requests_per_s())),
        (quota.name, lambda: _quota(quota, account)),
        ("e-mail", lambda: _email(needs)),
        *(("certificate", partial(_certificate, one, account)) for one in certificates),
        *(("truststore", partial(_file, one, account)) for one in files),
    ]
    for name, check in checks:
        try:
            said, remedy = check()
        except AccountUnavailableError as problem:
            said, remedy = str(problem), "look it up, or use credentials that may ask"
        yield Finding(name=name, said=said, remedy=remedy)


def _number(needs: StageNeeds, number: str) -> _Said:
    if needs.account == number:
        return number, ""
    if needs.account is not None:
        return f"{number} is not {needs.account}", f"use credentials of {needs.stage}'s account"
    remedy = f"set `account` of {needs.stage} in infra/stages.py, so that no other is deployed to"
    return f"{number}; the stage names none", remedy if needs.keeps_data else ""


def _zones(needs: StageNeeds, zones: set[str]) -> _Said:
    missing = [zone for zone in needs.zones if zone not in zones]
    if missing:
        return f"no {', '.join(missing)}", "change `availability_zones` in infra/stages.py"
    return ", ".join(needs.zones), ""


def _bootstrap(needs: StageNeeds, *, is_there: bool) -> _Said:
    return ("there", "") if is_there else ("not there", f"cdk bootstrap -c stage={needs.stage}")


def _functions(needs: StageNeeds, limit: int) -> _Said:
    needed = needs.functions_at_once + FUNCTIONS_LEFT_FREE
    return _enough(f"functions at once, {FUNCTIONS_LEFT_FREE} left free", needed, limit)


def _quota(quota: Quota, account: Account) -> _Said:
    return _enough(quota.name, quota.needed, account.quota(quota.service, quota.code))


def _enough(what: str, needed: int, limit: int) -> _Said:
    return f"{needed} of {limit} {what}", "" if needed <= limit else _QUOTAS_PAGE


def _email(needs: StageNeeds) -> _Said:
    if needs.alarm_email is None:
        return "alarms reach nobody", f"set `alarm_email` of {needs.stage} in infra/stages.py"
    return needs.alarm_email, ""


def _certificate(arn: str, account: Account) -> _Said:
    state = account.certificate_state(arn)
    return f"{arn} is {state}", "" if state == "ISSUED" else "finish its validation in ACM"


def _file(url: str, account: Account) -> _Said:
    account.read(url)
    return url, ""
