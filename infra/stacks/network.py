"""The private network of brokers, functions and jobs. Nothing in it reaches the internet."""

from dataclasses import dataclass

from aws_cdk import RemovalPolicy, Stack
from aws_cdk import aws_ec2 as ec2
from aws_cdk import aws_logs as logs
from constructs import Construct

from infra.constructs.log_retention import retention_of
from infra.stages import Stage

KAFKA_IAM_PORT = 9098


@dataclass(frozen=True, slots=True, kw_only=True)
class NetworkProps:
    """What differs between stages.

    A NAT gateway costs about 35 USD a month and zone, and each gigabyte through it as much again as
    the transfer; it is needed only by a parser's own dependencies that are fetched at start.
    """

    availability_zones: tuple[str, ...]
    nat_gateways: int
    log_retention_days: int

    @classmethod
    def of(cls, stage: Stage) -> "NetworkProps":
        return cls(
            availability_zones=stage.availability_zones,
            nat_gateways=stage.nat_gateways,
            log_retention_days=stage.log_retention_days,
        )


class Network(Stack):
    """The VPC, and one security group each for brokers, functions and jobs."""

    def __init__(self, scope: Construct, name: str, *, props: NetworkProps, region: str) -> None:
        super().__init__(
            scope, name, env={"region": region}, description="Fleetlane: the private network"
        )
        self._props = props
        self.vpc = self._vpc()
        self.functions_group = self._group("Functions", "what calls Kafka from Lambda")
        self.jobs_group = self._group("Jobs", "drivers and executors of Spark")
        self.brokers_group = self._group("Brokers", "Kafka", may_call_out=False)
        # An engine demands that its workers may call each other on any port.
        self.jobs_group.add_ingress_rule(self.jobs_group, ec2.Port.all_tcp(), "Spark itself")
        for client in (self.functions_group, self.jobs_group):
            self.brokers_group.add_ingress_rule(
                client, ec2.Port.tcp(KAFKA_IAM_PORT), "Kafka with IAM, over TLS"
            )
        self._add_endpoints()
        self._log_flows()

    @property
    def private_subnets(self) -> ec2.SubnetSelection:
        """One subnet in each zone."""
        return ec2.SubnetSelection(subnet_type=self._subnet_type)

    @property
    def subnets(self) -> list[ec2.ISubnet]:
        """The same, one by one."""
        return self.vpc.select_subnets(subnet_type=self._subnet_type).subnets

    @property
    def _subnet_type(self) -> ec2.SubnetType:
        if self._props.nat_gateways:
            return ec2.SubnetType.PRIVATE_WITH_EGRESS
        return ec2.SubnetType.PRIVATE_ISOLATED

    def _vpc(self) -> ec2.Vpc:
        private = ec2.SubnetConfiguration(name="private", subnet_type=self._subnet_type)
        public = ec2.SubnetConfiguration(name="public", subnet_type=ec2.SubnetType.PUBLIC)
        return ec2.Vpc(
            self,
            "Vpc",
            availability_zones=list(self._props.availability_zones),
            nat_gateways=self._props.nat_gateways,
            subnet_configuration=[private, public] if self._props.nat_gateways else [private],
        )

    def _group(self, name: str, whom: str, *, may_call_out: bool = True) -> ec2.SecurityGroup:
        return ec2.SecurityGroup(
            self,
            f"{name}Group",
            vpc=self.vpc,
            description=f"Fleetlane: {whom}",
            allow_all_outbound=may_call_out,
        )

    def _add_endpoints(self) -> None:
        """AWS's own services from inside; those by gateway cost nothing."""
        self.vpc.add_gateway_endpoint("S3", service=ec2.GatewayVpcEndpointAwsService.S3)
        self.vpc.add_gateway_endpoint("DynamoDb", service=ec2.GatewayVpcEndpointAwsService.DYNAMODB)
        group = self._group("Endpoints", "services of AWS", may_call_out=False)
        for client in (self.functions_group, self.jobs_group):
            group.add_ingress_rule(client, ec2.Port.tcp(443), "services of AWS, over TLS")
        services = {
            "Logs": ec2.InterfaceVpcEndpointAwsService.CLOUDWATCH_LOGS,
            "Metrics": ec2.InterfaceVpcEndpointAwsService.CLOUDWATCH_MONITORING,
            "Glue": ec2.InterfaceVpcEndpointAwsService.GLUE,  # the lake's catalog, on EMR too
        }
        for name, service in services.items():
            self.vpc.add_interface_endpoint(
                name, service=service, open=False, security_groups=[group]
            )

    def _log_flows(self) -> None:
        group = logs.LogGroup(
            self,
            "FlowLogs",
            retention=retention_of(self._props.log_retention_days),
            removal_policy=RemovalPolicy.DESTROY,
        )
        self.vpc.add_flow_log(
            "FlowLog",
            destination=ec2.FlowLogDestination.to_cloud_watch_logs(group),
            traffic_type=ec2.FlowLogTrafficType.REJECT,
        )
