"""What of AWS LocalStack lacks, on 127.0.0.1: the Glue catalog, CloudWatch, a role's credentials.

moto's own answers, without its server, which wants packages that nothing else here does. And an
index of Python packages that has none, and remembers who asked.
"""

import json
import re
import threading
from collections.abc import Callable, Iterable, Mapping
from socketserver import ThreadingMixIn
from typing import Any, Final, Self
from wsgiref.simple_server import WSGIRequestHandler, WSGIServer, make_server

from moto.cloudwatch.models import cloudwatch_backends
from moto.cloudwatch.responses import CloudWatchResponse
from moto.core.base_backend import AccountSpecificBackend
from moto.core.request import Request
from moto.glue.models import glue_backends
from moto.glue.responses import GlueResponse

from local.servers.ports import free_port
from tests.rehearsal.iam_broker import RoleCredentials

_SERVICE: Final = re.compile(r"Credential=[^,]*/([a-z0-9-]+)/aws4_request")
_ANSWERS: Final[Mapping[str, Any]] = {"glue": GlueResponse, "monitoring": CloudWatchResponse}
_NEVER: Final = "2099-01-01T00:00:00Z"

type StartResponse = Callable[[str, list[tuple[str, str]]], object]


class _Server(ThreadingMixIn, WSGIServer):
    daemon_threads = True


class _Quiet(WSGIRequestHandler):
    def log_message(self, *_: Any) -> None:
        return


class AwsTwins:
    """Answers from ``with`` on. ``asked_index`` are the packages that an installer looked for."""

    def __init__(self, role: RoleCredentials) -> None:
        self._role = role
        self.asked_index: list[str] = []
        self.url = f"http://127.0.0.1:{free_port()}"
        self.credentials_url = f"{self.url}/credentials"
        self.index_url = f"{self.url}/simple"

    def __enter__(self) -> Self:
        backends: list[AccountSpecificBackend[Any]] = [
            *glue_backends.values(),
            *cloudwatch_backends.values(),
        ]
        for account in backends:
            account.reset()  # they are this process's, whoever asked them before
        host, port = self.url.removeprefix("http://").split(":")
        self._server = make_server(
            host, int(port), self._answer, server_class=_Server, handler_class=_Quiet
        )
        threading.Thread(target=self._server.serve_forever, daemon=True).start()
        return self

    def __exit__(self, *_: object) -> None:
        self._server.shutdown()
        self._server.server_close()

    def _answer(self, environ: dict[str, Any], start: StartResponse) -> Iterable[bytes]:
        path = environ["PATH_INFO"]
        if path == "/credentials":
            return _given(start, "200 OK", json.dumps(self._credentials()).encode())
        if path.startswith("/simple"):
            self.asked_index.append(path.removeprefix("/simple").strip("/"))
            return _given(start, "404 Not Found", b"")
        service = _SERVICE.search(environ.get("HTTP_AUTHORIZATION", ""))
        answers = _ANSWERS.get(service[1] if service else "")
        if answers is None:
            return _given(start, "501 Not Implemented", b"")
        request = Request(environ)
        status, headers, body = answers.dispatch(request, request.url, request.headers)
        data = body if isinstance(body, bytes) else str(body).encode()
        given = [(str(name), str(value)) for name, value in headers.items()]
        start(f"{status} moto", [one for one in given if one[0].lower() != "content-length"])
        return [data]

    def _credentials(self) -> dict[str, str]:
        role = self._role
        return {
            "AccessKeyId": role.access_key,
            "SecretAccessKey": role.secret_key,
            "Token": role.token,
            "Expiration": _NEVER,
        }


def _given(start: StartResponse, status: str, body: bytes) -> Iterable[bytes]:
    start(status, [("Content-Type", "application/json")])
    return [body]
