"""What an AWS account has and allows, asked before anything is made in it."""

from typing import Any, Final
from urllib.parse import urlsplit

from clients.aws import AwsSettings, asking, aws_client
from fleetlane.events.errors import FleetlaneError

_BOOTSTRAPPED: Final = "/cdk-bootstrap/hnb659fds/version"


class AccountUnavailableError(FleetlaneError):
    """AWS does not answer the question, or not to these credentials."""

    problem: str
    sentence = "AWS did not answer: {problem}"


class AwsAccount:
    """One region of the credentials' account. Every method may raise ``AccountUnavailableError``.

    A quota is that of this account, where it was raised or not.
    """

    def __init__(self, region: str) -> None:
        self._region = region

    def number(self) -> str:
        return str(self._answer("sts", "get_caller_identity")["Account"])

    def caller(self) -> str:
        """Who the credentials are, such as ``assumed-role/Operator/kim``."""
        return str(self._answer("sts", "get_caller_identity")["Arn"]).rpartition(":")[2]

    def zones(self) -> set[str]:
        answer = self._answer("ec2", "describe_availability_zones")
        return {str(zone["ZoneName"]) for zone in answer["AvailabilityZones"]}

    def is_bootstrapped(self) -> bool:
        try:
            self._answer("ssm", "get_parameter", Name=_BOOTSTRAPPED)
        except AccountUnavailableError as problem:
            if "ParameterNotFound" in problem.problem:
                return False
            raise
        return True

    def functions_at_once(self) -> int:
        """Of all functions of the account together."""
        answer = self._answer("lambda", "get_account_settings")
        return int(answer["AccountLimit"]["ConcurrentExecutions"])

    def requests_per_s(self) -> int:
        """To all APIs of the account together."""
        answer = self._answer("apigateway", "get_account")
        return int(answer["throttleSettings"]["rateLimit"])

    def quota(self, service: str, code: str) -> int:
        asked = {"ServiceCode": service, "QuotaCode": code}
        return int(self._answer("service-quotas", "get_service_quota", **asked)["Quota"]["Value"])

    def certificate_state(self, arn: str) -> str:
        """``ISSUED``, if it can be used."""
        answer = self._answer("acm", "describe_certificate", CertificateArn=arn)
        return str(answer["Certificate"]["Status"])

    def read(self, url: str) -> None:
        """Only that the object of an ``s3://`` URL is there, and may be read."""
        place = urlsplit(url)
        self._answer("s3", "head_object", Bucket=place.netloc, Key=place.path.lstrip("/"))

    def _answer(self, service: str, operation: str, **asked: str) -> Any:
        with asking(AccountUnavailableError):
            client = aws_client(service, AwsSettings(region_name=self._region))
            return getattr(client, operation)(**asked)
