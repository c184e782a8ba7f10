"""The deployed function that puts flows into force, as who publishes calls it."""

from collections.abc import Callable, Mapping
from typing import Any, Final, Protocol

import boto3
import orjson
from botocore.config import Config
from botocore.exceptions import BotoCoreError, ClientError

from fleetlane.events.errors import FleetlaneError
from operations.aws_settings import ClientSettings

_ANSWER_TIMEOUT_S: Final = 120


class ActivationRefusedError(FleetlaneError):
    """The function did not put a version into force; the one before it stays."""

    reason = "activation_refused"
    version: str
    kind: str
    problem: str
    sentence = "flows {version} are not in force: {kind}: {problem}"


class Invokes(Protocol):
    """A client of Lambda."""

    @property
    def invoke(self) -> Callable[..., Mapping[str, Any]]: ...


class ActivationCall:
    """Calls the function by its name; blocks until all topics are there."""

    def __init__(self, functions: Invokes, name: str) -> None:
        self._functions, self._name = functions, name

    def __call__(self, version: str, in_place_of: str | None) -> None:
        """Have a version put into force.

        Raises:
            ActivationRefusedError: The function refuses it, or cannot be called.
        """
        event = {"version": version, "in_place_of": in_place_of}
        try:
            answer = self._functions.invoke(FunctionName=self._name, Payload=orjson.dumps(event))
        except (BotoCoreError, ClientError) as problem:
            raise ActivationRefusedError(version, self._name, str(problem)) from problem
        if "FunctionError" in answer:
            error = orjson.loads(answer["Payload"].read())
            kind, said = error.get("errorType", "an error"), error.get("errorMessage", "")
            raise ActivationRefusedError(version, kind, said)


def activation_call(name: str, aws: ClientSettings | None = None) -> ActivationCall:
    """Call the function in AWS, with the credentials of the environment, or where ``aws`` says."""
    options: Mapping[str, Any] = {} if aws is None else {**aws}
    proxies: Mapping[str, Any] = {} if aws is None else {"proxies": {}}
    config = Config(read_timeout=_ANSWER_TIMEOUT_S, retries={"total_max_attempts": 1}, **proxies)
    return ActivationCall(boto3.client("lambda", config=config, **options), name)
