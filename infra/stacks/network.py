"""The private network of brokers, functions and jobs. Nothing in it reaches the internet."""

from collections.abc import Iterable
from functools import partial

from aws_cdk import aws_ec2 as ec2
from constructs import Construct

from infra.constructs.network import PrivateNetwork
from infra.constructs.platform_stack import PlatformStack, log_group
from infra.stages import Stage

_KAFKA_IAM_PORT = 9098


class Network(PlatformStack):
    """The VPC, and one security group each for brokers, functions and jobs.

    A NAT gateway costs about 35 USD a month and zone, and each gigabyte through it as much again as
    the transfer; it is needed only by a parser's own dependencies that are fetched at start.
    """

    def __init__(self, scope: Construct, *, stage: Stage) -> None:
        super().__init__(scope, "network", stage=stage, description="the private network")
        kinds = ec2.SubnetType
        subnet_type = kinds.PRIVATE_WITH_EGRESS if stage.nat_gateways else kinds.PRIVATE_ISOLATED
        private = ec2.SubnetConfiguration(name="private", subnet_type=subnet_type, cidr_mask=18)
        public = ec2.SubnetConfiguration(name="public", subnet_type=kinds.PUBLIC)
        self._vpc = ec2.Vpc(
            self,
            "Vpc",
            availability_zones=list(stage.availability_zones),
            nat_gateways=stage.nat_gateways,
            subnet_configuration=[private, public] if stage.nat_gateways else [private],
        )
        self.private = PrivateNetwork(
            vpc=self._vpc,
            subnets=self._vpc.select_subnets(subnet_type=subnet_type).subnets,
            functions_group=self._group("Functions", "what calls Kafka from Lambda"),
            jobs_group=self._group("Jobs", "drivers and executors of Spark"),
            brokers_group=self._group("Brokers", "Kafka", may_call_out=False),
            operators_group=self._group("Operators", "the machine for operators")
            if stage.has_operator_host
            else None,
        )
        jobs_group = self.private.jobs_group
        # An engine demands that its workers may call each other on any port.
        jobs_group.add_ingress_rule(jobs_group, ec2.Port.all_tcp(), "Spark itself")
        groups = (self.private.functions_group, jobs_group, self.private.operators_group)
        clients = [one for one in groups if one is not None]
        for client in clients:
            self.private.brokers_group.add_ingress_rule(
                client, ec2.Port.tcp(_KAFKA_IAM_PORT), "Kafka with IAM, over TLS"
            )
        self._add_endpoints(clients)
        self._vpc.add_flow_log(
            "FlowLog",
            destination=ec2.FlowLogDestination.to_cloud_watch_logs(log_group(self, "FlowLogs")),
            traffic_type=ec2.FlowLogTrafficType.REJECT,
        )

    def _group(self, name: str, whom: str, *, may_call_out: bool = True) -> ec2.SecurityGroup:
        return ec2.SecurityGroup(
            self,
            f"{name}Group",
            vpc=self._vpc,
            description=f"Fleetlane: {whom}",
            allow_all_outbound=may_call_out,
        )

    def _add_endpoints(self, clients: Iterable[ec2.SecurityGroup]) -> None:
        """AWS's own services from inside; those by gateway cost nothing."""
        by_gateway = ec2.GatewayVpcEndpointAwsService
        self._vpc.add_gateway_endpoint("S3", service=by_gateway.S3)
        self._vpc.add_gateway_endpoint("DynamoDb", service=by_gateway.DYNAMODB)
        group = self._group("Endpoints", "services of AWS", may_call_out=False)
        for client in clients:
            group.add_ingress_rule(client, ec2.Port.tcp(443), "services of AWS, over TLS")
        add = partial(self._vpc.add_interface_endpoint, open=False, security_groups=[group])
        by_interface = ec2.InterfaceVpcEndpointAwsService
        add("Logs", service=by_interface.CLOUDWATCH_LOGS)
        add("Metrics", service=by_interface.CLOUDWATCH_MONITORING)
        add("Glue", service=by_interface.GLUE)  # the lake's catalog, on EMR too
        if self.stage.has_operator_host:
            where = ec2.SubnetSelection(subnets=self.private.subnets[:1])  # the one machine's
            add("Systems", service=by_interface.SSM, subnets=where)
            add("Sessions", service=by_interface.SSM_MESSAGES, subnets=where)
