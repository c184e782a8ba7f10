"""A name of our own for the API, where devices show a client certificate besides their token.

The name costs nothing. The certificates do: AWS Private CA is 400 USD a month and authority (50 USD
for certificates of a week at most); an authority of one's own costs whoever runs it.
"""

from aws_cdk import aws_apigateway as apigateway
from aws_cdk import aws_certificatemanager as acm
from aws_cdk import aws_s3 as s3
from constructs import Construct

from infra.stages import DeviceDomain


def add_device_domain(scope: Construct, api: apigateway.RestApi, domain: DeviceDomain) -> None:
    """Answer at ``domain``; its DNS entry is made by whoever owns the zone."""
    bucket, _, key = domain.truststore_uri.removeprefix("s3://").partition("/")
    name = apigateway.DomainName(
        scope,
        "Domain",
        domain_name=domain.name,
        certificate=acm.Certificate.from_certificate_arn(
            scope, "Certificate", domain.certificate_arn
        ),
        endpoint_type=apigateway.EndpointType.REGIONAL,
        security_policy=apigateway.SecurityPolicy.TLS_1_2,
        mtls=apigateway.MTLSConfig(
            bucket=s3.Bucket.from_bucket_name(scope, "Truststore", bucket), key=key
        ),
    )
    name.add_base_path_mapping(api, stage=api.deployment_stage)
