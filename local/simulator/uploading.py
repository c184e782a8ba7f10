"""How a simulated device uploads: it asks for a form, and posts its body to S3."""

import asyncio
from collections.abc import Callable, Mapping
from typing import Final, Protocol

import httpx
import orjson

from local.simulator.http_api import HttpAnswer, NoAnswerError
from local.simulator.messages import Outgoing
from operations.sending import device_client
from operations.sending.device_client import UPLOADED, declaration_of, form_answer

CREATED: Final = 201

type PostForm = Callable[[str, Mapping[str, str], bytes], httpx.Response]
"""Posts a form to S3 and gives its answer; raises ``device_client.NoAnswerError``."""


class Api(Protocol):
    """Where forms are asked for; ``HttpApi`` is one."""

    async def post(self, path: str, body: bytes, headers: Mapping[str, str]) -> HttpAnswer: ...


async def uploaded(
    message: Outgoing,
    headers: Mapping[str, str],
    api: Api,
    post_form: PostForm = form_answer,
) -> HttpAnswer:
    """Upload a message; gives the API's refusal, or an answer with the id once S3 has the body.

    Raises:
        NoAnswerError: The API does not answer, or S3 has not the body; with a key the message may
            be uploaded by another form.
    """
    declared = declaration_of(message.body, content_type=message.content_type)
    path = f"/v1/uploads/{message.stream}"
    json_headers = {**headers, "Content-Type": "application/json"}
    answer = await api.post(path, orjson.dumps(declared), json_headers)
    if answer.status != CREATED:
        return answer
    form = orjson.loads(answer.content)
    try:
        stored = await asyncio.to_thread(post_form, form["url"], form["fields"], message.body)
    except device_client.NoAnswerError as problem:
        raise NoAnswerError(str(problem)) from None
    if stored.status_code != UPLOADED:
        raise NoAnswerError(f"{stored.status_code}: {stored.text[:200]}")
    return HttpAnswer(status=UPLOADED, content=orjson.dumps({"id": form["id"], "landed": "object"}))
