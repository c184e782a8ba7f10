"""The app with a stage that has everything on that the others have off, and the HTTP API."""

from typing import Final

from aws_cdk import App

from infra.app import add_stage
from infra.stages import Api, DeviceDomain, stage_from
from tests.infra.stage_table import published_settings_of

DOMAIN: Final = DeviceDomain(
    name="devices.example.com",
    certificate_arn="arn:aws:acm:eu-central-1:123456789012:certificate/a-b-c",
    truststore_uri="s3://our-authorities/devices.pem",
)
OPTIONS = {
    "api": Api.HTTP,
    "nat_gateways": 1,
    "alarm_email": "on-call@example.com",
    "pipeline_repository": "acme/fleetlane",
    "device_domain": DOMAIN,
    "has_operator_host": True,
}


def main() -> None:
    app = App()
    add_stage(app, stage_from("options", published_settings_of("dev") | OPTIONS))
    app.synth()


if __name__ == "__main__":
    main()
