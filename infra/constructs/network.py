"""The private network, as functions, jobs and brokers are given it."""

from collections.abc import Sequence
from dataclasses import dataclass

from aws_cdk import aws_ec2 as ec2


@dataclass(frozen=True, slots=True, kw_only=True)
class PrivateNetwork:
    """``subnets`` are private, one in each zone. Each group may reach what its members need.

    ``operators_group`` is ``None`` in a stage without a machine for operators.
    """

    vpc: ec2.Vpc
    subnets: Sequence[ec2.ISubnet]
    functions_group: ec2.SecurityGroup
    jobs_group: ec2.SecurityGroup
    brokers_group: ec2.SecurityGroup
    operators_group: ec2.SecurityGroup | None
