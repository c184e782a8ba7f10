"""What an account lacks for a stage is found before anything of it is made."""

from collections.abc import Iterator
from dataclasses import dataclass, field, replace

import boto3
import pytest
from moto import mock_aws

from clients.account import AccountUnavailableError, AwsAccount
from infra.stages import DeviceDomain, Stage, settings_of, stage_from
from local.readiness import lacking
from local.setup.doctor import OK

REGION = "eu-central-1"
TRUSTSTORE = "s3://authorities/devices.pem"
STAGE = replace(
    stage_from("prod", settings_of("prod")),
    account="123456789012",
    availability_zones=("eu-central-1a", "eu-central-1b"),
    device_domain=DeviceDomain(
        name="devices.example.com",
        certificate_arn="arn:aws:acm:eu-central-1:123456789012:certificate/a",
        truststore_uri=TRUSTSTORE,
    ),
    alarm_email="on-call@example.com",
)


@dataclass
class Account(AwsAccount):
    """One that has all that is needed, but for what a test takes away."""

    account: str = "123456789012"
    known_zones: set[str] = field(default_factory=lambda: {"eu-central-1a", "eu-central-1b"})
    bootstrapped: bool = True
    at_once: int = 1_000
    rate: int = 10_000
    units: int = 1_000
    certificate: str = "ISSUED"
    refused: str = ""

    def number(self) -> str:
        return self.account

    def zones(self) -> set[str]:
        return self.known_zones

    def is_bootstrapped(self) -> bool:
        return self.bootstrapped

    def functions_at_once(self) -> int:
        return self.at_once

    def requests_per_s(self) -> int:
        return self.rate

    def quota(self, service: str, code: str) -> int:
        if self.refused == service:
            raise AccountUnavailableError("AccessDenied")
        return self.units

    def certificate_state(self, arn: str) -> str:
        return self.certificate

    def read(self, url: str) -> None:
        if self.refused == url:
            raise AccountUnavailableError("Not Found")


def _missing(account: Account, stage: Stage = STAGE) -> dict[str, str]:
    return {one.name: one.said for one in lacking(stage, account) if one.state != OK}


def test_an_account_that_has_all_lacks_nothing() -> None:
    found = list(lacking(STAGE, Account()))

    assert [one for one in found if one.remedy] == []
    assert [one.name for one in found] == [
        *("account", "zones", "bootstrap", "functions", "requests", "Glue DPUs", "e-mail"),
        *("certificate", "truststore"),
    ]


@pytest.mark.parametrize(
    ("account", "name", "said"),
    [
        (Account(account="210987654321"), "account", "210987654321 is not 123456789012"),
        (Account(known_zones={"eu-central-1a"}), "zones", "no eu-central-1b"),
        (Account(bootstrapped=False), "bootstrap", "not there"),
        (Account(at_once=900), "functions", "915 of 900 functions at once, 100 left free"),
        (Account(rate=500), "requests", "8000 of 500 requests/s"),
        (Account(units=16), "Glue DPUs", "26 of 16 Glue DPUs"),
        (Account(refused="glue"), "Glue DPUs", "AWS did not answer: AccessDenied"),
        (
            Account(certificate="PENDING_VALIDATION"),
            "certificate",
            "arn:aws:acm:eu-central-1:123456789012:certificate/a is PENDING_VALIDATION",
        ),
        (
            Account(refused="s3://authorities/devices.pem"),
            "truststore",
            "AWS did not answer: Not Found",
        ),
    ],
)
def test_what_is_lacking_is_named_with_what_is_needed(
    account: Account, name: str, said: str
) -> None:
    assert _missing(account) == {name: said}


def test_a_stage_that_keeps_data_must_name_its_account_and_an_address_for_its_alarms() -> None:
    stage = replace(STAGE, account=None, alarm_email=None)

    assert set(_missing(Account(), stage)) == {"account", "e-mail"}


@pytest.fixture
def aws() -> Iterator[AwsAccount]:
    with mock_aws():
        yield AwsAccount(REGION)


def test_an_account_is_asked_by_awss_own_api(aws: AwsAccount) -> None:
    boto3.client("ssm", REGION).put_parameter(
        Name="/cdk-bootstrap/hnb659fds/version", Value="30", Type="String"
    )
    boto3.client("s3", REGION).create_bucket(
        Bucket="authorities", CreateBucketConfiguration={"LocationConstraint": "eu-central-1"}
    )
    boto3.client("s3", REGION).put_object(Bucket="authorities", Key="devices.pem", Body=b"")
    acm = boto3.client("acm", REGION)
    arn = acm.request_certificate(DomainName="devices.example.com")["CertificateArn"]

    aws.read("s3://authorities/devices.pem")

    assert (aws.number(), aws.is_bootstrapped()) == ("123456789012", True)
    assert "eu-central-1a" in aws.zones()
    assert aws.certificate_state(arn) == "PENDING_VALIDATION"


def test_what_is_not_there_and_what_is_not_answered_are_told_apart(aws: AwsAccount) -> None:
    assert not aws.is_bootstrapped()

    with pytest.raises(AccountUnavailableError, match="AWS did not answer"):
        aws.read("s3://nowhere/devices.pem")
