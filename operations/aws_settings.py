"""How clients reach the AWS that runs here: as boto3 takes it, and as processes are told."""

from typing import Final, TypedDict

REGION: Final = "eu-central-1"


class ClientSettings(TypedDict):
    """Keyword arguments for any boto3 client."""

    endpoint_url: str
    region_name: str
    aws_access_key_id: str
    aws_secret_access_key: str


def client_settings_at(endpoint_url: str) -> ClientSettings:
    """What a boto3 client needs to reach the LocalStack that answers there."""
    return {
        "endpoint_url": endpoint_url,
        "region_name": REGION,
        "aws_access_key_id": "test",
        "aws_secret_access_key": "test",
    }


def variables_for(settings: ClientSettings) -> dict[str, str]:
    """The same for a process of its own, as the variables that AWS's clients read."""
    return {
        "AWS_ACCESS_KEY_ID": settings["aws_access_key_id"],
        "AWS_SECRET_ACCESS_KEY": settings["aws_secret_access_key"],
        "AWS_DEFAULT_REGION": settings["region_name"],
        "AWS_ENDPOINT_URL": settings["endpoint_url"],
    }
