"""Sending the messages of one slot: all routes at once, each again where it may help."""

import io
import time
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from http import HTTPStatus
from typing import Final

from clients import device_api
from fleetlane.events.canary import CanaryMessage, Route
from fleetlane.events.errors import FleetlaneError

TRIES_MAX: Final = 3
_AGAIN_AFTER_S: Final = 1.0
_TOKEN_LIFETIME_S: Final = 300


class CanaryNotAcceptedError(FleetlaneError):
    """Not all of a slot's messages were accepted. All of them were tried."""

    routes: str
    problem: str
    sentence = "the canary's messages were not accepted ({routes}); the first: {problem}"


class OtherReceiptError(FleetlaneError):
    """A message was accepted under another id than the one by which it will be looked for."""

    wanted: str
    received: object
    sentence = "the receipt names {received}, not {wanted}"


_FAILURES: Final = (device_api.MessageRefusedError, device_api.NoAnswerError, OtherReceiptError)


@dataclass(frozen=True, slots=True, kw_only=True)
class SlotSent:
    """Which messages of a slot were accepted, and why the others were not."""

    accepted: Sequence[CanaryMessage]
    problems: Mapping[CanaryMessage, FleetlaneError] = field(default_factory=dict)

    def checked(self) -> Sequence[CanaryMessage]:
        """All of them; raises ``CanaryNotAcceptedError`` where some were not accepted."""
        if self.problems:
            routes = ", ".join(message.route for message in self.problems)
            raise CanaryNotAcceptedError(routes, str(next(iter(self.problems.values()))))
        return self.accepted


@dataclass(frozen=True, slots=True, kw_only=True)
class Canary:
    """The device: where the HTTP API is, ``/v1/…`` being below it, its key, its tokens' ``aud``."""

    api_url: str
    key: device_api.DeviceKey
    audience: str = device_api.AUDIENCE
    send: Callable[[str, bytes, Mapping[str, str]], Mapping[str, object]] = device_api.sent
    wait: Callable[[float], None] = time.sleep

    def send_all(self, messages: Sequence[CanaryMessage], *, now_ms: int) -> SlotSent:
        """Send messages of one device, all at once; blocks until all have answers.

        Sending one again is safe: the ids are the same.
        """
        token = self.key.token(
            messages[0].device_id,
            now_s=now_ms // 1_000,
            lifetime_s=_TOKEN_LIFETIME_S,
            audience=self.audience,
        )
        with ThreadPoolExecutor(len(messages)) as pool:
            found = list(pool.map(lambda one: self._problem_of(one, token), messages))
        pairs = zip(messages, found, strict=True)
        problems = {one: problem for one, problem in pairs if problem is not None}
        accepted = [one for one in messages if one not in problems]
        return SlotSent(accepted=accepted, problems=problems)

    def _problem_of(self, message: CanaryMessage, token: str) -> FleetlaneError | None:
        for again in range(TRIES_MAX - 1, -1, -1):
            try:
                self._send(message, token)
                break
            except _FAILURES as problem:
                if not again or not _is_worth_another_try(problem):
                    return problem
                self.wait(_AGAIN_AFTER_S)
        return None

    def _send(self, message: CanaryMessage, token: str) -> None:
        headers = {
            "Authorization": f"Bearer {token}",
            "Content-Type": "application/json",
            "Idempotency-Key": message.idempotency_key,
        }
        if message.end_millis is not None:
            headers["X-Data-End-Millis"] = str(message.end_millis)
        if message.route is Route.UPLOADED:
            form = device_api.upload_form(self.api_url, message.stream, message.body, headers)
            receipt: Mapping[str, object] = device_api.uploaded(form, io.BytesIO(message.body))
        else:
            url = device_api.message_url(self.api_url, message.stream, message.asked)
            receipt = self.send(url, message.body, headers)
        if receipt.get("id") != message.raw_id:
            raise OtherReceiptError(message.raw_id, receipt.get("id"))


def _is_worth_another_try(problem: FleetlaneError) -> bool:
    if isinstance(problem, device_api.MessageRefusedError):
        status = problem.status
        return status == HTTPStatus.TOO_MANY_REQUESTS or status >= HTTPStatus.INTERNAL_SERVER_ERROR
    return isinstance(problem, device_api.NoAnswerError)
