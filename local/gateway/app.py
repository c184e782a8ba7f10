"""The gateway: one request after another through checks and the authorizer to the function."""

import asyncio
import sys
import time
import traceback
from collections.abc import Callable, Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import Final

import orjson
from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.requests import ClientDisconnect, Request
from starlette.responses import Response
from starlette.routing import Route

from fleetlane.events.errors import ProblemTag
from fleetlane.events.token_bucket import TokenBucket
from local.gateway import event as events
from local.gateway.functions import Handler, LambdaContext
from local.gateway.requests import body_of, check_headers, no_route, refused, unpacked
from local.gateway.rest_api import EVENT_BYTES_MAX, AuthorizerCache, AuthorizerResult

_AUTHORIZER_TTL_S: Final = 300  # API Gateway's own default
_METHODS: Final = ["GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS"]


@dataclass(frozen=True, slots=True, kw_only=True)
class GatewaySettings:
    """API Gateway's own defaults. ``threads`` is how many requests the functions take at once."""

    rate_per_s: float = 10_000
    burst: int = 5_000
    timeout_s: float = 29
    threads: int = 32


class Gateway:
    """A REST API in front of ``ingest`` and ``uploads``; ``authorizer`` says who sends.

    That is a REQUEST authorizer, whose identity source is the Authorization header.
    """

    def __init__(
        self,
        *,
        ingest: Handler,
        uploads: Handler,
        authorizer: Handler,
        settings: GatewaySettings,
        clock_s: Callable[[], float] = time.monotonic,
    ) -> None:
        self._behind: Mapping[str, Handler] = {"ingest": ingest, "uploads": uploads}
        self._authorizer, self._authorized = authorizer, AuthorizerCache(clock_s=clock_s)
        self._threads = ThreadPoolExecutor(settings.threads, thread_name_prefix="lambda")
        self._timeout_s, self._clock_s = settings.timeout_s, clock_s
        self._throttle = TokenBucket.full(
            burst=settings.burst, per_s=settings.rate_per_s, now_s=clock_s()
        )

    def app(self) -> Starlette:
        return Starlette(routes=[Route("/{path:path}", self._answered, methods=_METHODS)])

    def close(self) -> None:
        """Call no more functions; does not wait for calls under way."""
        self._threads.shutdown(wait=False, cancel_futures=True)

    async def _answered(self, request: Request) -> Response:
        try:
            check_headers(request.headers)
            path = events.raw_path(request)
            there = [one for one in events.RESOURCES if one.parameters_of(path) is not None]
            found = {one.method: one for one in there}
            resource = found.get(request.method)
            if resource is None:
                raise no_route(request.method, allowed=found)
            event = await self._event_of(request, resource)
            return await self._integrated(event, resource.function)
        except HTTPException as refusal:
            if refusal.__cause__ is not None:
                traceback.print_exception(refusal.__cause__, file=sys.stderr)
            raise
        except ClientDisconnect:
            return Response(status_code=400)  # nobody is there to read it

    async def _event_of(self, request: Request, resource: events.Resource) -> events.Event:
        """Check a request and make the function's event of it; raises ``HTTPException``."""
        if not self._throttle.take(self._clock_s()):
            raise refused(ProblemTag.SLOW_DOWN, "too many requests")
        body = unpacked(await body_of(request.stream()), request.headers)
        event = events.proxy_event(request, resource, body)
        if not resource.is_public:
            event["requestContext"]["authorizer"] = await self._context_of(event)
        return event

    async def _context_of(self, event: events.Event) -> Mapping[str, str]:
        """What the authorizer knows of the sender; refuses by 401, 403, or 503 where it fails."""
        token = event["headers"].get("authorization")
        if not token:
            raise refused(ProblemTag.UNAUTHENTICATED, "the request has no Authorization header")
        result = self._authorized.get((token,))
        if result is None:
            result = await self._authorize(event)
            self._authorized.put((token,), result, ttl_s=_AUTHORIZER_TTL_S)
        if not result.allows(events.method_arn(event)):
            raise refused(ProblemTag.FORBIDDEN, "the device may not send here")
        return result.context

    async def _authorize(self, event: events.Event) -> AuthorizerResult:
        try:
            returned = await self._called(self._authorizer, events.authorizer_event(event))
            return AuthorizerResult.of(returned)
        except Exception as problem:  # the edge to the function
            if str(problem) == "Unauthorized":
                raise refused(ProblemTag.UNAUTHENTICATED, "the token proves nothing") from None
            raise refused(ProblemTag.TRY_LATER, "the token cannot be checked now") from problem

    async def _integrated(self, event: events.Event, function: str) -> Response:
        """Call a function with an event and take its answer; raises ``HTTPException``."""
        _check_size(event)
        request_id = event["requestContext"]["requestId"]
        try:
            returned = await self._called(self._behind[function], event)
            return events.answer_from(returned, request_id=request_id)
        except TimeoutError:
            raise refused(ProblemTag.TRY_LATER, "the function did not answer in time") from None
        except Exception as problem:  # the edge to the function
            raise refused(ProblemTag.TRY_LATER, "the function failed") from problem

    async def _called(self, handler: Handler, event: events.Event) -> object:
        """Call a handler in a thread; ``TimeoutError`` after its time: it goes on unobserved."""
        context, loop = LambdaContext(timeout_s=self._timeout_s), asyncio.get_running_loop()
        returned = loop.run_in_executor(self._threads, handler, event, context)
        return await asyncio.wait_for(returned, self._timeout_s)


def _check_size(event: events.Event) -> None:
    """Lambda takes at most 6 MB. Headers are small: only a large body is worth counting."""
    if len(event["body"] or "") > EVENT_BYTES_MAX // 2:
        event_bytes = len(orjson.dumps(event))
        if event_bytes > EVENT_BYTES_MAX:
            detail = f"the request makes {event_bytes} bytes; the limit is {EVENT_BYTES_MAX} bytes"
            raise refused(ProblemTag.TOO_LARGE, f"{detail}; POST /v1/uploads/{{stream}} takes more")
