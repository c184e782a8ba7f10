"""Asking the authorizer, and keeping its answers."""

import re
import time
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass
from typing import Any, Final

from fleetlane.events.errors import ProblemTag
from local.gateway.event import Event, authorizer_event, method_arn
from local.gateway.problems import refused

_KEPT_MAX: Final = 50_000

type AskAuthorizer = Callable[[Event], Awaitable[object]]
type Identity = Mapping[str, str]


@dataclass(frozen=True, slots=True, kw_only=True)
class _Kept:
    policy: Mapping[str, Any]
    identity: Identity
    until_s: float


class Authorizer:
    """A REQUEST authorizer whose identity source is the Authorization header."""

    def __init__(
        self, ask: AskAuthorizer, *, ttl_s: float, clock_s: Callable[[], float] = time.monotonic
    ) -> None:
        self._ask, self._ttl_s, self._clock_s = ask, ttl_s, clock_s
        self._kept: dict[str, _Kept] = {}

    async def identity_of(self, event: Event) -> Identity:
        """Who sends this, as the function behind it is told. An answer is kept for its token.

        Raises:
            RefusedError: 401, 403, or 503 if the authorizer fails.
        """
        token = event["headers"].get("authorization")
        if not token:
            raise refused(ProblemTag.UNAUTHENTICATED, "the request has no Authorization header")
        kept = self._kept.get(token)
        if kept is None or kept.until_s <= self._clock_s():
            kept = await self._asked(event)
            self._keep(token, kept)
        if not is_allowed(kept.policy, method_arn(event)):
            raise refused(ProblemTag.FORBIDDEN, "the device may not send here")
        return kept.identity

    async def _asked(self, event: Event) -> _Kept:
        try:
            return self._read(await self._ask(authorizer_event(event)))
        except Exception as problem:  # the edge to the function
            if str(problem) == "Unauthorized":
                raise refused(ProblemTag.UNAUTHENTICATED, "the token proves nothing") from None
            raise refused(ProblemTag.TRY_LATER, "the token cannot be checked now") from problem

    def _read(self, returned: Any) -> _Kept:
        values = (returned.get("context") or {}) | {"principalId": returned["principalId"]}
        return _Kept(
            policy=returned["policyDocument"],
            identity={name: _text(value) for name, value in values.items()},
            until_s=self._clock_s() + self._ttl_s,
        )

    def _keep(self, token: str, kept: _Kept) -> None:
        if len(self._kept) >= _KEPT_MAX:
            self._kept.clear()
        self._kept[token] = kept


def is_allowed(policy: Mapping[str, Any], arn: str) -> bool:
    """Evaluate a policy: something allows it, and nothing denies it."""
    effects = [
        statement["Effect"]
        for statement in policy["Statement"]
        if any(_covers(resource, arn) for resource in _listed(statement["Resource"]))
    ]
    return "Allow" in effects and "Deny" not in effects


def _listed(resource: str | list[str]) -> list[str]:
    return [resource] if isinstance(resource, str) else resource


def _covers(resource: str, arn: str) -> bool:
    pattern = re.escape(resource).replace(r"\*", ".*").replace(r"\?", ".")
    return re.fullmatch(pattern, arn) is not None


def _text(value: object) -> str:
    """API Gateway passes numbers and booleans on as text, and refuses anything else."""
    match value:
        case bool():
            return str(value).lower()
        case str() | int() | float():
            return str(value)
        case _:
            raise TypeError(f"context holds a {type(value).__name__}")
