"""Uploading a large body as a device does: a form from the API, then the body straight to S3."""

import hashlib
import re
from collections.abc import Mapping
from typing import IO, Final
from urllib.parse import quote

import httpx

from lambdas.ingest.settings import BODY_BYTES_MAX
from operations.devices.http_client import MessageRefusedError, NoAnswerError, content_of

UPLOADED: Final = 204
"""What S3 answers once it holds all of a body."""

_ANSWER_TIMEOUT_S: Final = 30.0
_S3_CODE: Final = re.compile("<Code>(\\w+)</Code>")


def is_for_upload(body: bytes) -> bool:
    """Whether a body is more than the API takes at once."""
    return len(body) > BODY_BYTES_MAX


def uploads_url(api: str, stream: str) -> str:
    """Where an upload is asked for."""
    return f"{api}/v1/uploads/{quote(stream, safe='')}"


def declaration_of(body: bytes, *, content_type: str) -> dict[str, object]:
    """Say of a body what the API wants to know before it is sent."""
    digest = hashlib.sha256(body).hexdigest()
    return {"bytes": len(body), "sha256": digest, "content_type": content_type}


def upload_form(
    url: str, declaration: Mapping[str, object], headers: Mapping[str, str]
) -> dict[str, object]:
    """Ask for a form.

    Raises:
        MessageRefusedError: Anything but a 201 came back.
        NoAnswerError: Nothing came back.
    """
    json_headers = {**headers, "Content-Type": "application/json"}
    answer = _posted(url, json=dict(declaration), headers=json_headers)
    return content_of(answer, wanted=httpx.codes.CREATED)


def form_answer(url: str, fields: Mapping[str, str], body: IO[bytes] | bytes) -> httpx.Response:
    """Send a body by its form, and give S3's answer; raises ``NoAnswerError``."""
    return _posted(url, data=dict(fields), files={"file": body})


def uploaded(form: Mapping[str, object], body: IO[bytes]) -> dict[str, object]:
    """Send a body by its form and return the receipt.

    Raises:
        MessageRefusedError: S3 did not take it; the tag is S3's own code.
        NoAnswerError: Nothing came back. The same form may be used again.
    """
    url, fields = form["url"], form["fields"]
    assert isinstance(url, str)
    assert isinstance(fields, dict)
    answer = form_answer(url, fields, body)
    if answer.status_code != UPLOADED:
        code = _S3_CODE.search(answer.text)
        tag = "unexpected" if code is None else code[1]
        raise MessageRefusedError(answer.status_code, tag, "S3 did not take the body")
    return {"id": form["id"], "landed": "object"}


def _posted(url: str, **request: object) -> httpx.Response:
    try:
        return httpx.post(url, timeout=_ANSWER_TIMEOUT_S, trust_env=False, **request)  # type: ignore[arg-type]
    except (httpx.HTTPError, httpx.InvalidURL) as problem:
        raise NoAnswerError(url, str(problem) or type(problem).__name__) from problem
