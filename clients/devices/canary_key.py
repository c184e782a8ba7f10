"""The canary's private key: a SecureString of Systems Manager, for its function alone."""

import json
from typing import Any

from clients.aws import asking
from clients.device_api import DeviceKey
from fleetlane.events.errors import FleetlaneError


class CanaryKeyUnavailableError(FleetlaneError):
    """The key cannot be read or written now. Trying again later may succeed."""

    parameter: str
    problem: str
    sentence = "the canary's key {parameter} is not available: {problem}"


class CanaryNotEnrolledError(CanaryKeyUnavailableError):
    """Nobody has enrolled the canary yet, or what is in the place of its key is none."""

    reason = "canary_not_enrolled"

    problem: str = "there is none; run fleetlane device enroll-canary --stage NAME"


class CanaryKeyParameter:
    """Both raise ``CanaryKeyUnavailableError``. ``ssm`` is a client whose maker bounded its waits.

    The parameter is encrypted with the account's own key of Systems Manager.
    """

    def __init__(self, ssm: Any, name: str) -> None:
        self._ssm, self._name = ssm, name

    def read(self) -> DeviceKey:
        """Read the key; raises ``CanaryNotEnrolledError`` where there is none."""
        with asking(CanaryKeyUnavailableError, self._name):
            try:
                found = self._ssm.get_parameter(Name=self._name, WithDecryption=True)
                return DeviceKey.from_private_jwk(json.loads(found["Parameter"]["Value"]))
            except self._ssm.exceptions.ParameterNotFound:
                raise CanaryNotEnrolledError(self._name) from None
            except (ValueError, KeyError, TypeError):  # whose text might hold the key
                problem = "it holds no private key; run fleetlane device enroll-canary again"
                raise CanaryNotEnrolledError(self._name, problem) from None

    def write(self, key: DeviceKey) -> None:
        """Keep a key, over one that was there."""
        with asking(CanaryKeyUnavailableError, self._name):
            self._ssm.put_parameter(
                Name=self._name,
                Value=json.dumps(key.private_jwk),
                Type="SecureString",
                Overwrite=True,
            )
