"""Our API's resources, the events made of requests, and answers made of what functions return."""

import base64
import re
import uuid
from dataclasses import dataclass
from typing import Any, Final

from starlette.requests import Request
from starlette.responses import Response

API_ARN: Final = "arn:aws:execute-api:eu-central-1:000000000000:local"
STAGE: Final = "local"

type Event = dict[str, Any]


@dataclass(frozen=True, slots=True, kw_only=True)
class Resource:
    """One method of one resource. A public one needs no authorizer."""

    method: str
    path: str
    function: str = "ingest"
    is_public: bool = False

    def parameters_of(self, path: str) -> dict[str, str] | None:
        """The values of its parameters in a path as sent, not decoded; ``None``: not its path."""
        pattern = re.sub(r"\{(\w+)\}", r"(?P<\1>[^/]+)", self.path)
        found = re.fullmatch(pattern, path)
        return None if found is None else found.groupdict()


RESOURCES: Final = (
    Resource(method="POST", path="/v1/streams/{stream}"),
    Resource(method="POST", path="/v1/fast/{stream}"),
    Resource(method="POST", path="/v1/batch"),
    Resource(method="POST", path="/v1/uploads/{stream}", function="uploads"),
    Resource(method="GET", path="/v1/health", is_public=True),
)


def proxy_event(request: Request, resource: Resource, body: bytes) -> Event:
    """Write what a function may ask of a request; all bodies are binary, as ``*/*`` makes them."""
    headers, query, path = request.headers, request.query_params, raw_path(request)
    multi_headers = {name: headers.getlist(name) for name in headers}
    return {
        "resource": resource.path,
        "path": path,
        "httpMethod": request.method,
        "headers": {name: values[-1] for name, values in multi_headers.items()},
        "multiValueHeaders": multi_headers,
        "queryStringParameters": dict(query) or None,
        "multiValueQueryStringParameters": {name: query.getlist(name) for name in query} or None,
        "pathParameters": resource.parameters_of(path) or None,
        "requestContext": {"requestId": str(uuid.uuid4()), "stage": STAGE},
        "body": base64.b64encode(body).decode() if body else None,
        "isBase64Encoded": bool(body),
    }


def authorizer_event(event: Event) -> Event:
    """What a REQUEST authorizer receives: everything but the body."""
    shown = {name: event[name] for name in event if name not in ("body", "isBase64Encoded")}
    return shown | {"type": "REQUEST", "methodArn": method_arn(event)}


def method_arn(event: Event) -> str:
    return f"{API_ARN}/{STAGE}/{event['httpMethod']}{event['path']}"


def answer_from(returned: Any, *, request_id: str) -> Response:
    """Turn what a function returned into an answer; raises whatever is wrong with it."""
    response = Response(returned.get("body") or "", int(returned["statusCode"]))
    for name, values in (returned.get("multiValueHeaders") or {}).items():
        del response.headers[name]
        for one in values:
            response.headers.append(name, str(one))
    response.headers.setdefault("content-type", "application/json")
    response.headers["x-amzn-requestid"] = request_id
    return response


def raw_path(request: Request) -> str:
    """The path as sent, not decoded."""
    return bytes(request.scope["raw_path"]).decode("latin-1")
