"""Rules of API Gateway's REST APIs: limits, and what a Lambda authorizer's result allows.

Used by the light gateway and, in LocalStack's own environment, by the plug-in for it: hence it
imports nothing but the standard library.
"""

import time
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from fnmatch import fnmatchcase
from typing import Any, Final, Self

REQUEST_BYTES_MAX: Final = 10 * 1024 * 1024
EVENT_BYTES_MAX: Final = 6 * 1024 * 1024
"""What Lambda takes, the body in Base64 included."""

_ACTION: Final = "execute-api:invoke"
_SWEEP_AT: Final = 1_000
"""With so many results, and each time they have doubled, the expired ones are dropped."""


@dataclass(frozen=True, slots=True, kw_only=True)
class AuthorizerResult:
    """What an authorizer returned. ``context`` is what the function behind it receives."""

    policy: Mapping[str, Any]
    context: Mapping[str, str]

    @classmethod
    def of(cls, returned: Any) -> Self:
        """Read what the authorizer's function returned.

        Raises ``KeyError`` where it lacks the policy or the principal, and ``TypeError`` where it
        is no mapping, or its context holds more than texts and numbers.
        """
        values = (returned.get("context") or {}) | {"principalId": returned["principalId"]}
        context = {name: _text(value) for name, value in values.items()}
        return cls(policy=returned["policyDocument"], context=context)

    def allows(self, method_arn: str) -> bool:
        """Whether a statement allows the method, and none denies it."""
        effects = [
            statement["Effect"]
            for statement in _listed(self.policy.get("Statement", []))
            if _covers((one.lower() for one in _listed(statement.get("Action", []))), _ACTION)
            and _covers(_listed(statement.get("Resource", [])), method_arn)
        ]
        return "Allow" in effects and "Deny" not in effects


class AuthorizerCache:
    """Results by what identifies the caller, each for its time to live. Safe for threads."""

    def __init__(self, *, clock_s: Callable[[], float] = time.monotonic) -> None:
        self._clock_s = clock_s
        self._cached: dict[tuple[str, ...], tuple[AuthorizerResult, float]] = {}
        self._sweep_at = _SWEEP_AT

    def get(self, key: tuple[str, ...]) -> AuthorizerResult | None:
        result, until_s = self._cached.get(key, (None, 0.0))
        return result if until_s > self._clock_s() else None

    def put(self, key: tuple[str, ...], result: AuthorizerResult, *, ttl_s: float) -> None:
        now_s = self._clock_s()
        if len(self._cached) >= self._sweep_at:
            self._cached = {one: had for one, had in self._cached.items() if had[1] > now_s}
            self._sweep_at = max(_SWEEP_AT, 2 * len(self._cached))
        self._cached[key] = (result, now_s + ttl_s)


def _covers(patterns: Iterable[str], value: str) -> bool:
    return any(fnmatchcase(value, pattern) for pattern in patterns)


def _listed(value: Any) -> list[Any]:
    return value if isinstance(value, list) else [value]


def _text(value: object) -> str:
    """API Gateway passes numbers and booleans on as text, and refuses anything else."""
    if not isinstance(value, str | int | float):
        raise TypeError(f"context holds a {type(value).__name__}")
    return str(value).lower() if isinstance(value, bool) else str(value)
