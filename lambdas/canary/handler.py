"""What is called at the beginning of each minute."""

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from typing import Any

from aws_lambda_powertools import Logger

from clients.aws import aws_client
from clients.devices.canary import Canary
from clients.devices.canary_key import CanaryKeyParameter
from clients.environment import read_settings
from fleetlane.events.canary import messages_of, slot_at
from fleetlane.events.times import millis_from_rfc3339, now_ms

logger = Logger(service="canary")


@dataclass(frozen=True, slots=True, kw_only=True)
class Settings:
    """Where the HTTP API is, for whom its tokens are, and the parameter that holds the key."""

    api_url: str
    audience: str
    key_parameter: str


def handle(event: Mapping[str, Any], context: object) -> dict[str, str]:
    """Send the messages of the event's minute; its repetition sends the same ones.

    Raises:
        CanaryNotEnrolledError: There is no key yet.
        CanaryNotAcceptedError: Some were refused, or got no answer.
    """
    at_ms = millis_from_rfc3339(event.get("time", "")) or now_ms()
    sent = _canary().send_all(messages_of(slot_at(at_ms)), now_ms=now_ms())
    for message, problem in sent.problems.items():
        logger.error("not accepted", extra={"route": message.route, "problem": str(problem)})
    if sent.problems:
        _canary.cache_clear()  # its key may have been replaced
    return {message.route.value: message.raw_id for message in sent.checked()}


@cache
def _canary() -> Canary:
    ours = read_settings(Settings)
    key = CanaryKeyParameter(aws_client("ssm"), ours.key_parameter).read()
    return Canary(api_url=ours.api_url.rstrip("/"), key=key, audience=ours.audience)
