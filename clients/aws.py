"""boto3 clients that give up in time: a job's after about five seconds, a request's far sooner.

boto3 is imported where the first is opened: it takes a quarter of a second, and a command that asks
Kafka alone, or fails before it asks anything, opens none. Functions import it as they start.
"""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from botocore.exceptions import BotoCoreError, ClientError

from fleetlane.events.errors import FleetlaneError

if TYPE_CHECKING:
    from botocore.config import Config
    from mypy_boto3_cloudwatch.client import CloudWatchClient as StubbedCloudWatchClient
    from mypy_boto3_dynamodb.service_resource import Table as StubbedTable
    from mypy_boto3_s3.client import S3Client as StubbedS3Client

# Stubs are there for the type checker alone; as they run, these names stand for nothing.
type CloudWatchClient = StubbedCloudWatchClient
type S3Client = StubbedS3Client
type Table = StubbedTable


@dataclass(frozen=True, slots=True, kw_only=True)
class AwsSettings:
    """Where AWS is, and as whom. What is ``None`` boto3 finds itself: in its environment."""

    endpoint_url: str | None = None
    region: str | None = None
    access_key_id: str | None = None
    secret_access_key: str | None = None

    def for_boto3(self) -> dict[str, Any]:
        return {
            "endpoint_url": self.endpoint_url,
            "region_name": self.region,
            "aws_access_key_id": self.access_key_id,
            "aws_secret_access_key": self.secret_access_key,
        }


def aws_client(
    service: str, settings: AwsSettings | None = None, *, config: "Config | None" = None
) -> Any:
    """Open a client of any service, by several threads usable; a job's, unless ``config`` is given.

    Without ``settings`` it is AWS as boto3 itself finds it.
    """
    import boto3  # noqa: PLC0415 - as above

    given = (settings or AwsSettings()).for_boto3()
    return boto3.client(service, config=config or client_config(), **given)  # type: ignore[call-overload]


def s3_client(settings: AwsSettings, *, config: "Config | None" = None) -> S3Client:
    """Open a client for S3; may be used by several threads. A job's, unless ``config`` is given."""
    from botocore.handlers import add_expect_header  # noqa: PLC0415 - as above

    s3: S3Client = aws_client("s3", settings, config=config)
    # Asking first whether S3 wants a body costs a round trip, and a second where S3 hangs.
    s3.meta.events.unregister("before-call.s3", add_expect_header)
    return s3


def dynamodb_table(settings: AwsSettings, name: str, *, config: "Config | None" = None) -> Table:
    """Open one table of DynamoDB; it answers, or fails, within about three seconds.

    ``config`` gives other bounds.
    """
    import boto3  # noqa: PLC0415 - as above

    config = config or request_config(attempts=2)
    return boto3.resource("dynamodb", config=config, **settings.for_boto3()).Table(name)


def client_config() -> "Config":
    """The bounds of a job's call: one second to connect, two to answer, one more try."""
    return _config(connect_s=1, answer_s=2, attempts=2)


def request_config(*, attempts: int = 1) -> "Config":
    """The bounds of a call while a device waits; callers that retry give no ``attempts``."""
    return _config(connect_s=0.5, answer_s=1, attempts=attempts)


def hasty_config(*, seconds: float) -> "Config":
    """Bounds of a call that may only take so long: one try, half to connect, half to answer."""
    return _config(connect_s=seconds / 2, answer_s=seconds / 2, attempts=1)


@contextmanager
def asking(unavailable: Callable[[str], FleetlaneError]) -> Iterator[None]:
    """Turn what boto3 raises inside into what ``unavailable`` makes of its sentence."""
    try:
        yield
    except (BotoCoreError, ClientError) as problem:
        raise unavailable(str(problem)) from problem


def is_missing(problem: Exception) -> bool:
    """Whether S3 said that there is no such object; a missing bucket is something else."""
    return _code_of(problem) in {"NoSuchKey", "404"}


def is_overtaken(problem: Exception) -> bool:
    """Whether a conditional write was refused: somebody else wrote, or writes right now."""
    return _code_of(problem) in {"PreconditionFailed", "ConditionalRequestConflict", "412", "409"}


def _code_of(problem: Exception) -> str | None:
    if not isinstance(problem, ClientError):
        return None
    return problem.response.get("Error", {}).get("Code")


def _config(*, connect_s: float, answer_s: float, attempts: int) -> "Config":
    from botocore.config import Config  # noqa: PLC0415 - as above

    return Config(
        connect_timeout=connect_s,
        read_timeout=answer_s,
        retries={"total_max_attempts": attempts, "mode": "standard"},
        max_pool_connections=32,
        response_checksum_validation="when_required",  # we compare digests ourselves
    )
