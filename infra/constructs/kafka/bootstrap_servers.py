"""The brokers' addresses: CloudFormation does not give them, so each deploy asks MSK."""

from aws_cdk import Stack
from aws_cdk import custom_resources as custom
from constructs import Construct

from infra.constructs.log_groups import log_group
from infra.constructs.nag_suppressions import BASIC_LAMBDA_POLICY, suppress

_BY_CDK = "CDK's own function for one call of an API while deploying; it is not called in between."


class BootstrapServers(Construct):
    """Asks once the cluster is there. ``with_iam`` is ``host:port``, several with commas."""

    def __init__(
        self, scope: Construct, name: str, *, cluster_arn: str, log_retention_days: int
    ) -> None:
        super().__init__(scope, name)
        call = custom.AwsSdkCall(
            service="Kafka",
            action="getBootstrapBrokers",
            parameters={"ClusterArn": cluster_arn},
            physical_resource_id=custom.PhysicalResourceId.of("bootstrap-servers"),
            output_paths=["BootstrapBrokerStringSaslIam"],
        )
        asked = custom.AwsCustomResource(
            self,
            "Asked",
            on_update=call,
            install_latest_aws_sdk=False,
            log_group=log_group(self, "Logs", days=log_retention_days),
            policy=custom.AwsCustomResourcePolicy.from_sdk_calls(resources=[cluster_arn]),
        )
        self.with_iam: str = asked.get_response_field("BootstrapBrokerStringSaslIam")
        self._explain_function()

    def _explain_function(self) -> None:
        singleton = custom.AwsCustomResource.PROVIDER_FUNCTION_UUID.replace("-", "")
        function = Stack.of(self).node.find_child(f"AWS{singleton}")
        suppress(function, "L1", _BY_CDK)
        suppress(function, BASIC_LAMBDA_POLICY, _BY_CDK)
