"""What an alarm is made of."""

from dataclasses import dataclass

from aws_cdk import aws_cloudwatch as cloudwatch


@dataclass(frozen=True, slots=True, kw_only=True)
class AlarmRule:
    """Alarms when ``metric`` is above ``threshold`` for ``periods`` in a row.

    ``meaning`` is what the alarm's message says. With ``silence_alarms``, no news is bad news.
    """

    name: str
    meaning: str
    metric: cloudwatch.IMetric
    threshold: float
    periods: int = 1
    silence_alarms: bool = False
