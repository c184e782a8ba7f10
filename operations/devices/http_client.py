"""Sending one message as a device does: over HTTP, with a token."""

from collections.abc import Mapping
from typing import Final
from urllib.parse import quote

import httpx

from fleetlane.events.errors import FleetlaneError
from fleetlane.events.lanes import Lane

_ANSWER_TIMEOUT_S: Final = 30.0
_DETAIL_CHARS_MAX: Final = 500


class MessageRefusedError(FleetlaneError):
    """The API answered with a problem (RFC 9457)."""

    reason = "message_refused"
    status: int
    tag: str
    detail: str
    sentence = "{status} {tag}: {detail}"


class NoAnswerError(FleetlaneError):
    """The API did not answer; the message may have landed. Sending it again is safe with a key."""

    reason = "no_answer"
    url: str
    problem: str
    sentence = "{url} did not answer: {problem}"


def message_url(api: str, stream: str, lane: Lane) -> str:
    """Where a message of this stream is sent: the fast lane has an endpoint of its own."""
    route = "fast" if lane is Lane.FAST else "streams"
    return f"{api}/v1/{route}/{quote(stream, safe='')}"


def sent(url: str, body: bytes, headers: Mapping[str, str]) -> dict[str, object]:
    """Send one message and return its receipt.

    Raises:
        MessageRefusedError: Anything but a 202 came back.
        NoAnswerError: Nothing came back.
    """
    try:
        answer = httpx.post(
            url,
            content=body,
            headers=dict(headers),
            timeout=_ANSWER_TIMEOUT_S,
            trust_env=False,  # a proxy of the user's does not reach 127.0.0.1
        )
    except (httpx.HTTPError, httpx.InvalidURL) as problem:
        raise NoAnswerError(url, str(problem) or type(problem).__name__) from problem
    return receipt_of(answer)


def receipt_of(answer: httpx.Response) -> dict[str, object]:
    """Read an answer; raises ``MessageRefusedError`` where it is no receipt."""
    return content_of(answer, wanted=httpx.codes.ACCEPTED)


def content_of(answer: httpx.Response, *, wanted: int) -> dict[str, object]:
    """Read an answer of this status; raises ``MessageRefusedError`` where it is another."""
    content = _content(answer)
    if answer.status_code != wanted or content is None:
        raise _refusal(answer, content or {})
    return content


def _content(answer: httpx.Response) -> dict[str, object] | None:
    try:
        content = answer.json()
    except ValueError:
        return None
    return content if isinstance(content, dict) else None


def _refusal(answer: httpx.Response, problem: Mapping[str, object]) -> MessageRefusedError:
    """RFC 9457: the tag is the last part of ``type``, a URN."""
    tag = str(problem.get("type", "unexpected")).rpartition(":")[2]
    detail = str(problem.get("detail") or problem.get("title") or answer.text)
    return MessageRefusedError(answer.status_code, tag, detail[:_DETAIL_CHARS_MAX])
