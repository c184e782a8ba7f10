"""How librdkafka's clients prove to Kafka who they are."""

import math
import os
from collections.abc import Callable
from typing import Any

from fleetlane.events.job_arguments import KafkaSecurity


def security_configuration(security: KafkaSecurity) -> dict[str, Any]:
    """Give the part of librdkafka's configuration that concerns security.

    With ``iam``, tokens are made from the role's own credentials, live fifteen minutes and are
    renewed by the client itself.
    """
    if security is KafkaSecurity.PLAINTEXT:
        return {}
    return {"security.protocol": "SASL_SSL", "sasl.mechanisms": "OAUTHBEARER", "oauth_cb": _token}


class RememberedToken:
    """Makes tokens for librdkafka, which asks in time, and remembers when the last one ends.

    In a frozen process nobody asks: then it wakes up with a token that is over.
    """

    def __init__(self, make: Callable[[str], tuple[str, float]]) -> None:
        self._make = make
        self._ends_s = math.inf

    def __call__(self, configuration: str) -> tuple[str, float]:
        token, self._ends_s = self._make(configuration)
        return token, self._ends_s

    def is_over(self, now_s: float) -> bool:
        return now_s >= self._ends_s


def _token(_configuration: str) -> tuple[str, float]:
    """Make a token for Amazon MSK, and say when it ends, in seconds since 1970."""
    from aws_msk_iam_sasl_signer import MSKAuthTokenProvider  # noqa: PLC0415 - slow to import, and not used on a laptop

    # Lambda sets the one itself, the Spark jobs set the other: neither is a setting of ours.
    region = os.environ.get("AWS_REGION") or os.environ["AWS_DEFAULT_REGION"]  # noqa: TID251
    token, expires_ms = MSKAuthTokenProvider.generate_auth_token(region)
    return token, expires_ms / 1000
