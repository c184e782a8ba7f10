"""The console as a web application: who may look, which page is where, and what is live on it."""

import asyncio
import secrets
import socket
from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import suppress
from http import HTTPStatus
from pathlib import Path
from typing import Final
from urllib.parse import parse_qsl

import msgspec
import uvicorn
from starlette.applications import Starlette
from starlette.concurrency import run_in_threadpool
from starlette.exceptions import HTTPException
from starlette.middleware import Middleware
from starlette.middleware.base import BaseHTTPMiddleware, RequestResponseEndpoint
from starlette.middleware.trustedhost import TrustedHostMiddleware
from starlette.requests import Request
from starlette.responses import HTMLResponse, RedirectResponse, Response, StreamingResponse
from starlette.routing import BaseRoute, Mount, Route
from starlette.staticfiles import StaticFiles

from clients.kafka.reader import KafkaUnreadableError
from clients.lake.laptop_lake import LakeMissingError
from fleetlane.events.errors import FleetlaneError
from fleetlane.events.times import time_text
from operations.console.pages import LINKS, Page, Pages
from operations.console.replays import Replays
from operations.fleet import wording
from operations.templates import templates_in

_HERE: Final = Path(__file__).parent
_HOSTS: Final = ("127.0.0.1", "localhost")
_LIVE_EVERY_S: Final = 2.0
_FORM_BYTES_MAX: Final = 4_096
_HEADERS: Final = {
    "Content-Security-Policy": "default-src 'none'; style-src 'unsafe-inline'; img-src data:;"
    " script-src 'self'; connect-src 'self'; form-action 'self'; base-uri 'none';"
    " frame-ancestors 'none'",
    "Cache-Control": "no-store",
    "Referrer-Policy": "same-origin",  # else our own forms have no origin
    "X-Content-Type-Options": "nosniff",
}


class ConsoleApp:
    """Serves pages to whoever has the token: once in the address, and from then on as a cookie.

    It changes nothing, unless it has ``replays``. Requests by any name but this machine's own are
    refused (DNS rebinding)
    """

    def __init__(self, pages: Pages, *, token: str, replays: Replays | None = None) -> None:
        self._pages, self._token, self._replays = pages, token, replays
        self._templates = templates_in(_HERE, _HERE.parent / "report")
        self._templates.globals |= {"time_text": time_text, "written": _as_json, "replays": replays}

    def starlette(self) -> Starlette:
        pages = self._pages
        shown: Mapping[str, Callable[[Request], Page]] = {
            "/": lambda request: pages.flows(**_chosen(request)),
            "/flows/{name}": lambda request: pages.flow(request.path_params["name"]),
            "/devices": lambda _: pages.devices(),
            "/devices/{name}": lambda request: pages.device(request.path_params["name"]),
            "/messages/{name}": lambda request: pages.message(request.path_params["name"]),
            "/parked": lambda _: pages.parked(),
            "/ledger": lambda _: pages.ledger(),
        }
        routes: list[BaseRoute] = [Route(path, self._writes(page)) for path, page in shown.items()]
        routes += [
            Route("/fleet", lambda _: HTMLResponse(pages.report())),
            Route("/find", self._find),
            Route("/live", self._live),
            Route("/replay", self._replay, methods=["POST"]),
            Mount("/static", StaticFiles(directory=_HERE / "static")),
        ]
        guards = [
            Middleware(TrustedHostMiddleware, allowed_hosts=_HOSTS),
            Middleware(BaseHTTPMiddleware, dispatch=self._guard),
        ]
        refused = {FleetlaneError: self._refused}
        return Starlette(routes=routes, middleware=guards, exception_handlers=refused)

    def written(self, page: Page, *, of: str = "page.html.j2", is_paused: bool = False) -> str:
        """As HTML: all of it, or its content alone."""
        return self._templates.get_template(of).render(
            page=page, links=LINKS, is_paused=is_paused, words=wording
        )

    async def _guard(self, request: Request, answered: RequestResponseEndpoint) -> Response:
        given = request.query_params.get("token", "")
        cookie = f"fleetlane_console_{request.url.port}"  # browsers mix the cookies of all ports
        if self._is_token(given):
            answer: Response = RedirectResponse(request.url.path, HTTPStatus.SEE_OTHER)
            answer.set_cookie(cookie, given, httponly=True, samesite="lax")
        elif self._is_token(request.cookies.get(cookie, "")):
            answer = await answered(request)
        else:
            page = Page(title="Who are you?", template="token.html.j2")
            answer = HTMLResponse(self.written(page), HTTPStatus.UNAUTHORIZED)
        answer.headers.update(_HEADERS)
        return answer

    def _is_token(self, given: str) -> bool:
        return secrets.compare_digest(given.encode(), self._token.encode())

    def _writes(self, page: Callable[[Request], Page]) -> Callable[[Request], Response]:
        return lambda request: HTMLResponse(
            self.written(page(request), is_paused="paused" in request.query_params)
        )

    def _refused(self, request: Request, problem: Exception) -> Response:
        title, status = "Not found", HTTPStatus.NOT_FOUND
        if isinstance(problem, KafkaUnreadableError | LakeMissingError):
            title, status = "Not available", HTTPStatus.SERVICE_UNAVAILABLE
        elif request.method == "POST":
            title, status = "The replay failed", HTTPStatus.CONFLICT
        return HTMLResponse(self.written(Page(title=title, notes=[str(problem)])), status)

    def _find(self, request: Request) -> Response:
        path = self._pages.path_of(request.query_params.get("q", "").strip())
        return RedirectResponse(path, HTTPStatus.SEE_OTHER)

    async def _replay(self, request: Request) -> Response:
        """Only what a form of this console asks for: another site's has another origin."""
        form, replays = await _form_of(request), self._replays
        if replays is None:
            raise HTTPException(404, "Replays are off: fleetlane console --allow-replay has them.")
        asked = [form.get(one, "") for one in ("stream", "reason", "shown_ms")]
        given, signed = form.get("signature", "").encode(), replays.signed(*asked).encode()
        is_ours = request.headers.get("origin") == str(request.base_url).removesuffix("/")
        if not (is_ours and secrets.compare_digest(given, signed)):
            raise HTTPException(403, "This is no form of the console as it runs now: load it anew.")
        return HTMLResponse(self.written(await run_in_threadpool(replays.page, *asked)))

    async def _live(self, request: Request) -> Response:
        """The content of the flows' page every two seconds, as server-sent events."""

        def content() -> str:
            page = self._pages.flows(**_chosen(request))
            return self.written(page, of="content.html.j2")

        async def sent() -> AsyncIterator[str]:
            while True:
                with suppress(FleetlaneError):  # what is not read now is read later
                    yield f"data: {_as_json(await run_in_threadpool(content))}\n\n"
                await asyncio.sleep(_LIVE_EVERY_S)

        return StreamingResponse(sent(), media_type="text/event-stream")


async def _form_of(request: Request) -> dict[str, str]:
    body = b""
    async for part in request.stream():
        body += part
        if len(body) > _FORM_BYTES_MAX:
            raise HTTPException(413, "The form is too large.")
    return dict(parse_qsl(body.decode(errors="replace")))


def _as_json(value: object) -> str:
    return msgspec.json.encode(value).decode()


def _chosen(request: Request) -> dict[str, str]:
    return {one: request.query_params.get(one, "") for one in ("lane", "owner", "search")}


def serve(app: Starlette, *, port: int, token: str, on_address: Callable[[str], None]) -> None:
    """Serve on this machine alone until SIGINT or SIGTERM. Blocks; port 0 is a free one."""
    # No log of requests: the first has the token in its address.
    config = uvicorn.Config(app, access_log=False, log_level="warning", timeout_graceful_shutdown=1)
    with socket.create_server((_HOSTS[0], port)) as listening:
        on_address(f"http://{_HOSTS[0]}:{listening.getsockname()[1]}/?token={token}")
        with suppress(KeyboardInterrupt):
            uvicorn.Server(config).run(sockets=[listening])
