"""What API Gateway checks and changes in a request first, and how it refuses one: RFC 9457."""

import zlib
from collections.abc import AsyncIterable, Iterable
from http import HTTPStatus
from typing import Final

import orjson
from starlette.datastructures import Headers
from starlette.exceptions import HTTPException

from fleetlane.events.errors import ProblemTag
from infra.constructs.api.problem_answers import PROBLEM_CONTENT_TYPE, RETRY_AFTER_S, problem_body
from local.gateway.rest_api import REQUEST_BYTES_MAX

HEADER_BYTES_MAX: Final = 10_240

_GZIP_OR_ZLIB: Final = 32 + zlib.MAX_WBITS
_HEADERS: Final = {"Content-Type": PROBLEM_CONTENT_TYPE}


def refused(tag: ProblemTag, detail: str, *, allow: str | None = None) -> HTTPException:
    """Refuse with one of our tags; those that are worth retrying say when."""
    headers = {**_HEADERS, "Retry-After": RETRY_AFTER_S.get(tag), "Allow": allow}
    sent = {name: str(value) for name, value in headers.items() if value is not None}
    return HTTPException(tag.status, problem_body(tag, detail), sent)


def no_route(method: str, *, allowed: Iterable[str]) -> HTTPException:
    """Refuse a path that there is not (404), or a method that it does not have (405)."""
    allow = ", ".join(allowed)
    if not allow:
        return refused(ProblemTag.NO_ROUTE, "there is no such path")
    detail = f"the method {method} is not allowed here; use {allow}"
    return refused(ProblemTag.NO_METHOD, detail, allow=allow)


def _refused(status: HTTPStatus, detail: str) -> HTTPException:
    """For what has no tag of ours: no device of ours does it."""
    kind, title = "about:blank", status.phrase
    body = orjson.dumps({"type": kind, "title": title, "status": status, "detail": detail})
    return HTTPException(status, body.decode(), _HEADERS)


def check_headers(headers: Headers) -> None:
    """Refuse (431) where the names and values of all headers have over 10,240 bytes."""
    total_bytes = sum(len(name) + len(value) for name, value in headers.raw)
    if total_bytes > HEADER_BYTES_MAX:
        detail = f"the headers have {total_bytes} bytes; the limit is {HEADER_BYTES_MAX} bytes"
        raise _refused(HTTPStatus.REQUEST_HEADER_FIELDS_TOO_LARGE, detail)


async def body_of(stream: AsyncIterable[bytes]) -> bytes:
    """Read a body; one over 10 MB is refused (413), and its rest left unread."""
    chunks, total_bytes = [], 0
    async for chunk in stream:
        chunks.append(chunk)
        total_bytes += len(chunk)
        if total_bytes > REQUEST_BYTES_MAX:
            raise _too_large()
    return b"".join(chunks)


def unpacked(body: bytes, headers: Headers) -> bytes:
    """Unpack a gzip or deflate body, as API Gateway does; it leaves the header as it was.

    Refused are other codings (415), damaged bodies (400), and those over 10 MB then (413).
    """
    coding = headers.get("content-encoding", "identity").strip().lower()
    if coding == "identity":
        return body
    if coding not in ("gzip", "deflate"):
        detail = f"content coding {coding[:80]!r}; allowed: gzip, deflate, identity"
        raise _refused(HTTPStatus.UNSUPPORTED_MEDIA_TYPE, detail)
    unpacking = zlib.decompressobj(_GZIP_OR_ZLIB)
    try:
        inflated = unpacking.decompress(body, REQUEST_BYTES_MAX)
    except zlib.error as problem:
        raise refused(ProblemTag.BAD_REQUEST, f"the body is not {coding}: {problem}") from None
    if unpacking.unconsumed_tail:
        raise _too_large()
    if not unpacking.eof:
        raise refused(ProblemTag.BAD_REQUEST, f"the body is not {coding}: it is cut short")
    return inflated


def _too_large() -> HTTPException:
    detail = f"the body is over {REQUEST_BYTES_MAX} bytes; POST /v1/uploads/{{stream}} takes more"
    return refused(ProblemTag.TOO_LARGE, detail)
