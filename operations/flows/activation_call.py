"""The deployed function that puts flows into force, as who publishes calls it."""

from typing import Any, Final

import boto3
import orjson
from botocore.config import Config
from botocore.exceptions import BotoCoreError, ClientError

from clients.aws import AwsSettings
from fleetlane.events.errors import FleetlaneError

_ANSWER_TIMEOUT_S: Final = 120


class ActivationRefusedError(FleetlaneError):
    """The function did not put a version into force; the one before it stays."""

    reason = "activation_refused"
    version: str
    kind: str
    problem: str
    sentence = "flows {version} are not in force: {kind}: {problem}"


class ActivationCall:
    """Calls a stage's function by its name; blocks until all topics are there."""

    def __init__(self, aws: AwsSettings, function: str) -> None:
        self._aws, self._function = aws, function

    def __call__(self, version: str, in_place_of: str | None) -> None:
        """Have a version put into force.

        Raises:
            ActivationRefusedError: The function refuses it, or cannot be called.
        """
        event = orjson.dumps({"version": version, "in_place_of": in_place_of})
        try:
            answer = self._functions().invoke(FunctionName=self._function, Payload=event)
        except (BotoCoreError, ClientError) as problem:
            raise ActivationRefusedError(version, self._function, str(problem)) from problem
        if "FunctionError" in answer:
            error = orjson.loads(answer["Payload"].read())
            kind, said = error.get("errorType", "an error"), error.get("errorMessage", "")
            raise ActivationRefusedError(version, kind, said)

    def _functions(self) -> Any:
        """A client that waits as long as the function may take, and asks once."""
        config = Config(read_timeout=_ANSWER_TIMEOUT_S, retries={"total_max_attempts": 1})
        if self._aws.endpoint_url is not None:  # on this machine, past any proxy
            config = config.merge(Config(proxies={}))
        return boto3.client("lambda", config=config, **self._aws.for_boto3())
