"""How long logs are kept: CloudWatch knows certain numbers of days only."""

from typing import Final

from aws_cdk import aws_logs as logs

_DAYS: Final = {
    1: logs.RetentionDays.ONE_DAY,
    7: logs.RetentionDays.ONE_WEEK,
    14: logs.RetentionDays.TWO_WEEKS,
    30: logs.RetentionDays.ONE_MONTH,
    90: logs.RetentionDays.THREE_MONTHS,
    180: logs.RetentionDays.SIX_MONTHS,
    365: logs.RetentionDays.ONE_YEAR,
}


def retention_of(days: int) -> logs.RetentionDays:
    """CloudWatch's name for one of the numbers of days that a stage may have."""
    return _DAYS[days]
