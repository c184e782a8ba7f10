"""How librdkafka's clients prove to Kafka who they are."""

import os
from typing import Any, Final

from fleetlane.events.job_arguments import KafkaSecurity

_IAM: Final = {"security.protocol": "SASL_SSL", "sasl.mechanisms": "OAUTHBEARER"}


def security_configuration(security: KafkaSecurity) -> dict[str, Any]:
    """Give the part of librdkafka's configuration that concerns security.

    With ``iam``, tokens are made from the role's own credentials, live fifteen minutes and are
    renewed by the client itself.
    """
    match security:
        case KafkaSecurity.PLAINTEXT:
            return {}
        case KafkaSecurity.IAM:
            return {**_IAM, "oauth_cb": _token}


def _token(_configuration: str) -> tuple[str, float]:
    """Make a token for Amazon MSK, and say when it ends, in seconds since 1970."""
    from aws_msk_iam_sasl_signer import MSKAuthTokenProvider  # noqa: PLC0415 - dear, and not local

    region = os.environ["AWS_REGION"]  # noqa: TID251 - set by Lambda itself, no setting of ours
    token, expires_ms = MSKAuthTokenProvider.generate_auth_token(region)
    return token, expires_ms / 1000
