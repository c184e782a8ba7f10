"""boto3 clients that give up in time: a job's after about five seconds, a request's far sooner.

boto3 is imported where the first is opened: it takes a quarter of a second, and a command that asks
Kafka alone, or fails before it asks anything, opens none. Functions import it as they start.
"""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import asdict, dataclass
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
    """Where AWS is, and as whom, in boto3's words. What is ``None`` it finds in its environment."""

    endpoint_url: str | None = None
    region_name: str | None = None
    aws_access_key_id: str | None = None
    aws_secret_access_key: str | None = None


def aws_client(
    service: str, settings: AwsSettings | None = None, *, config: "Config | None" = None
) -> Any:
    """Open a client of any service, by several threads usable; a job's, unless ``config`` is given.

    Without ``settings`` it is AWS as boto3 itself finds it.
    """
    import boto3  # noqa: PLC0415 - as above

    given: dict[str, Any] = asdict(settings or AwsSettings())
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

    config = config or client_config(connect_s=0.5, answer_s=1)
    return boto3.resource("dynamodb", config=config, **asdict(settings)).Table(name)


def client_config(*, connect_s: float = 1, answer_s: float = 2, attempts: int = 2) -> "Config":
    """The bounds of a call; without others a job's, which is tried once more."""
    from botocore.config import Config  # noqa: PLC0415 - as above

    return Config(
        connect_timeout=connect_s,
        read_timeout=answer_s,
        retries={"total_max_attempts": attempts, "mode": "standard"},
        max_pool_connections=32,
        response_checksum_validation="when_required",  # we compare digests ourselves
    )


def request_config() -> "Config":
    """The bounds of a call while a device waits, and whose caller tries again itself."""
    return client_config(connect_s=0.5, answer_s=1, attempts=1)


def hasty_config(*, seconds: float) -> "Config":
    """Bounds of a call that may only take so long: one try, half to connect, half to answer."""
    return client_config(connect_s=seconds / 2, answer_s=seconds / 2, attempts=1)


@contextmanager
def asking(unavailable: Callable[..., FleetlaneError], *about: str) -> Iterator[None]:
    """Turn what boto3 raises inside into what ``unavailable`` makes of its sentence.

    ``about`` are the arguments before that.
    """
    try:
        yield
    except (BotoCoreError, ClientError) as problem:
        raise unavailable(*about, str(problem)) from problem
