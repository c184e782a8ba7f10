"""Calls the authorizer, and caches its results."""

import time
from collections.abc import Awaitable, Callable, Mapping

from fleetlane.events.errors import ProblemTag
from local.gateway.event import Event, authorizer_event, method_arn
from local.gateway.problems import refused
from local.gateway.rest_api import AuthorizerCache, AuthorizerResult

type CallAuthorizer = Callable[[Event], Awaitable[object]]


class Authorizer:
    """A REQUEST authorizer whose identity source is the Authorization header."""

    def __init__(
        self, call: CallAuthorizer, *, ttl_s: float, clock_s: Callable[[], float] = time.monotonic
    ) -> None:
        self._call, self._ttl_s = call, ttl_s
        self._cache = AuthorizerCache(clock_s=clock_s)

    async def context_of(self, event: Event) -> Mapping[str, str]:
        """What the authorizer knows of the sender, for the function behind the gateway.

        Raises:
            RefusedError: 401, 403, or 503 if the authorizer fails.
        """
        token = event["headers"].get("authorization")
        if not token:
            raise refused(ProblemTag.UNAUTHENTICATED, "the request has no Authorization header")
        result = self._cache.get((token,))
        if result is None:
            result = await self._result(event)
            self._cache.put((token,), result, ttl_s=self._ttl_s)
        if not result.allows(method_arn(event)):
            raise refused(ProblemTag.FORBIDDEN, "the device may not send here")
        return result.context

    async def _result(self, event: Event) -> AuthorizerResult:
        try:
            return AuthorizerResult.of(await self._call(authorizer_event(event)))
        except Exception as problem:  # the edge to the function
            if str(problem) == "Unauthorized":
                raise refused(ProblemTag.UNAUTHENTICATED, "the token proves nothing") from None
            raise refused(ProblemTag.TRY_LATER, "the token cannot be checked now") from problem
