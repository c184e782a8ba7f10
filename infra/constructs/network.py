"""The private network, as functions, jobs and brokers are given it."""

from dataclasses import dataclass

from aws_cdk import aws_ec2 as ec2


@dataclass(frozen=True, slots=True, kw_only=True)
class PrivateNetwork:
    """``private_subnets`` has one in each zone. Each group may reach what its members need."""

    vpc: ec2.Vpc
    private_subnets: ec2.SubnetSelection
    functions_group: ec2.SecurityGroup
    jobs_group: ec2.SecurityGroup
    brokers_group: ec2.SecurityGroup

    @property
    def subnets(self) -> list[ec2.ISubnet]:
        subnet_type = self.private_subnets.subnet_type
        return self.vpc.select_subnets(subnet_type=subnet_type).subnets
