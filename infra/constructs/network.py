"""The private network, as functions, jobs and brokers are given it."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

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
    def of_functions(self) -> Mapping[str, Any]:
        """Where a function is placed, as CDK is given it."""
        groups = [self.functions_group]
        return {"vpc": self.vpc, "vpc_subnets": self.private_subnets, "security_groups": groups}

    @property
    def subnets(self) -> list[ec2.ISubnet]:
        subnet_type = self.private_subnets.subnet_type
        return self.vpc.select_subnets(subnet_type=subnet_type).subnets
