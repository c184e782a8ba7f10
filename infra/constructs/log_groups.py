"""Log groups that go with their stack, and how long they keep logs."""

from typing import Final

from aws_cdk import RemovalPolicy
from aws_cdk import aws_kms as kms
from aws_cdk import aws_logs as logs
from constructs import Construct

RETENTIONS: Final = {
    1: logs.RetentionDays.ONE_DAY,
    7: logs.RetentionDays.ONE_WEEK,
    14: logs.RetentionDays.TWO_WEEKS,
    30: logs.RetentionDays.ONE_MONTH,
    90: logs.RetentionDays.THREE_MONTHS,
    180: logs.RetentionDays.SIX_MONTHS,
    365: logs.RetentionDays.ONE_YEAR,
}


def log_group(
    scope: Construct,
    name: str,
    *,
    days: int,
    log_group_name: str | None = None,
    key: kms.IKey | None = None,
) -> logs.LogGroup:
    return logs.LogGroup(
        scope,
        name,
        log_group_name=log_group_name,
        encryption_key=key,
        retention=RETENTIONS[days],
        removal_policy=RemovalPolicy.DESTROY,
    )
