"""How clients reach the AWS that runs here: for boto3, and for processes."""

from typing import Final, TypedDict

from clients.aws import AwsSettings

REGION: Final = "eu-central-1"
_ANY_KEY: Final = "test"
"""LocalStack takes any credentials; the user's own AWS settings must not count there."""


class ClientSettings(TypedDict):
    """Keyword arguments for any boto3 client."""

    endpoint_url: str
    region_name: str
    aws_access_key_id: str
    aws_secret_access_key: str


def localstack_at(endpoint_url: str, region: str = REGION) -> AwsSettings:
    """The LocalStack that answers there."""
    return AwsSettings(
        endpoint_url=endpoint_url,
        region=region,
        access_key_id=_ANY_KEY,
        secret_access_key=_ANY_KEY,
    )


def client_settings_at(endpoint_url: str) -> ClientSettings:
    """What a boto3 client needs to reach the LocalStack that answers there."""
    return {
        "endpoint_url": endpoint_url,
        "region_name": REGION,
        "aws_access_key_id": _ANY_KEY,
        "aws_secret_access_key": _ANY_KEY,
    }


def variables_for(settings: ClientSettings) -> dict[str, str]:
    """The same for a process of its own, as the variables that AWS's clients read."""
    return {
        "AWS_ACCESS_KEY_ID": settings["aws_access_key_id"],
        "AWS_SECRET_ACCESS_KEY": settings["aws_secret_access_key"],
        "AWS_DEFAULT_REGION": settings["region_name"],
        "AWS_ENDPOINT_URL": settings["endpoint_url"],
    }
