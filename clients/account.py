"""What an AWS account has and allows, asked before anything is made in it."""

from collections.abc import Callable
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
        return str(self._asked("sts", lambda sts: sts.get_caller_identity()["Account"]))

    def caller(self) -> str:
        """Who the credentials are, such as ``assumed-role/Operator/kim``."""
        answer = self._asked("sts", lambda sts: sts.get_caller_identity())
        return str(answer["Arn"]).rpartition(":")[2]

    def zones(self) -> set[str]:
        answer = self._asked("ec2", lambda ec2: ec2.describe_availability_zones())
        return {str(zone["ZoneName"]) for zone in answer["AvailabilityZones"]}

    def is_bootstrapped(self) -> bool:
        try:
            self._asked("ssm", lambda ssm: ssm.get_parameter(Name=_BOOTSTRAPPED))
        except AccountUnavailableError as problem:
            if "ParameterNotFound" in problem.problem:
                return False
            raise
        return True

    def functions_at_once(self) -> int:
        """Of all functions of the account together."""
        answer = self._asked("lambda", lambda one: one.get_account_settings())
        return int(answer["AccountLimit"]["ConcurrentExecutions"])

    def requests_per_s(self) -> int:
        """To all APIs of the account together."""
        answer = self._asked("apigateway", lambda one: one.get_account())
        return int(answer["throttleSettings"]["rateLimit"])

    def quota(self, service: str, code: str) -> int:
        def ask(quotas: Any) -> Any:
            return quotas.get_service_quota(ServiceCode=service, QuotaCode=code)["Quota"]["Value"]

        return int(self._asked("service-quotas", ask))

    def certificate_state(self, arn: str) -> str:
        """``ISSUED``, if it can be used."""
        answer = self._asked("acm", lambda acm: acm.describe_certificate(CertificateArn=arn))
        return str(answer["Certificate"]["Status"])

    def read(self, url: str) -> None:
        """Only that the object of an ``s3://`` URL is there, and may be read."""
        place = urlsplit(url)
        key = place.path.lstrip("/")
        self._asked("s3", lambda s3: s3.head_object(Bucket=place.netloc, Key=key))

    def _asked(self, service: str, ask: Callable[[Any], Any]) -> Any:
        with asking(AccountUnavailableError):
            return ask(aws_client(service, AwsSettings(region=self._region)))
