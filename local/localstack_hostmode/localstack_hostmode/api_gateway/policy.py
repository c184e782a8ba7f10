"""Whether the policy that an authorizer answered lets a request through."""

import re
from collections.abc import Mapping
from enum import StrEnum
from typing import Any

_ACTION = "execute-api:invoke"


class Verdict(StrEnum):
    """``UNSAID`` is refused too, with another message."""

    ALLOWED = "allowed"
    DENIED = "denied"
    UNSAID = "unsaid"


def verdict_on(method_arn: str, policy: Mapping[str, Any]) -> Verdict:
    """Judge one method of one API. A denial counts more than any number of permissions."""
    verdict = Verdict.UNSAID
    for statement in _listed(policy.get("Statement", [])):
        if _speaks_of(method_arn, statement):
            if statement["Effect"] == "Deny":
                return Verdict.DENIED
            verdict = Verdict.ALLOWED
    return verdict


def _speaks_of(method_arn: str, statement: Mapping[str, Any]) -> bool:
    actions, resources = (
        _listed(statement.get("Action", [])),
        _listed(statement.get("Resource", [])),
    )
    return any(_matches(action.lower(), _ACTION) for action in actions) and any(
        _matches(resource, method_arn) for resource in resources
    )


def _listed(value: Any) -> list[Any]:
    return value if isinstance(value, list) else [value]


def _matches(pattern: str, value: str) -> bool:
    wildcards = {"*": ".*", "?": "."}
    expression = "".join(wildcards.get(char, re.escape(char)) for char in pattern)
    return re.fullmatch(expression, value, re.DOTALL) is not None
