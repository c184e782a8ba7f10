"""Flows into force by the deployed function, as an owner of flows does it in AWS."""

from collections.abc import Iterable
from typing import TYPE_CHECKING, ClassVar, Final

import boto3
import orjson
from botocore.config import Config

from clients.flow_store import FlowStore
from fleetlane.events.errors import FleetlaneError
from fleetlane.events.flows import Flow
from local.aws import ClientSettings

if TYPE_CHECKING:
    from mypy_boto3_s3 import S3Client

_ANSWER_TIMEOUT_S: Final = 120


class ActivationRefusedError(FleetlaneError):
    """The function did not put a version into force; the one before it stays."""

    reason: ClassVar[str] = "activation_refused"

    def __init__(self, version: str, kind: str, problem: str) -> None:
        super().__init__(version, kind, problem)
        self.version, self.kind, self.problem = version, kind, problem

    def __str__(self) -> str:
        return f"flows {self.version} are not in force: {self.kind}: {self.problem}"


class FlowPublisher:
    """Publishes flows to a bucket, and has a function put them into force.

    ``store`` is where they are published.
    """

    def __init__(self, s3: "S3Client", bucket: str, *, function: str, aws: ClientSettings) -> None:
        self.store = FlowStore(s3, bucket)
        self._function = function
        self._lambda = boto3.client(
            "lambda",
            config=Config(
                proxies={}, read_timeout=_ANSWER_TIMEOUT_S, retries={"total_max_attempts": 1}
            ),
            **aws,
        )

    def publish(self, flows: Iterable[Flow]) -> str:
        """Publish flows, put them into force and return their version.

        Raises:
            FlowsUnavailableError: S3 does not answer.
            ActivationRefusedError: The function refuses them.
        """
        version = self.store.publish(flows)
        self.activate(version)
        return version

    def activate(self, version: str) -> None:
        """Put a published version into force; raises ``ActivationRefusedError``."""
        answer = self._lambda.invoke(
            FunctionName=self._function, Payload=orjson.dumps({"version": version})
        )
        if "FunctionError" in answer:
            error = orjson.loads(answer["Payload"].read())
            kind, problem = error.get("errorType", "an error"), error.get("errorMessage", "")
            raise ActivationRefusedError(version, kind, problem)
