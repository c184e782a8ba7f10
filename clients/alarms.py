"""A stage's alarms in CloudWatch, and whether those whom they notify have confirmed."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final

from clients.aws import CloudWatchClient, asking
from fleetlane.events.errors import FleetlaneError

_PENDING: Final = "PendingConfirmation"


class AlarmsUnavailableError(FleetlaneError):
    """CloudWatch or SNS does not answer, or refuses."""

    problem: str
    sentence = "the alarms cannot be read: {problem}"


@dataclass(frozen=True, slots=True, kw_only=True)
class StageAlarms:
    """The alarms whose names begin with ``prefix``; the waits of both clients are bounded.

    Both methods raise ``AlarmsUnavailableError``.
    """

    cloudwatch: CloudWatchClient
    sns: Any
    prefix: str

    def states(self) -> Mapping[str, str]:
        """``OK``, ``ALARM`` or ``INSUFFICIENT_DATA``, by the alarm's name."""
        return {one["AlarmName"]: one["StateValue"] for one in self._alarms()}

    def listeners(self) -> tuple[int, int]:
        """How many subscriptions to the alarms' topics are confirmed, and how many are not yet."""
        topics = {topic for one in self._alarms() for topic in one["AlarmActions"]}
        with asking(AlarmsUnavailableError):
            pages = self.sns.get_paginator("list_subscriptions_by_topic")
            found = [
                one["SubscriptionArn"]
                for topic in sorted(topics)
                for page in pages.paginate(TopicArn=topic)
                for one in page["Subscriptions"]
            ]
        return sum(one.startswith("arn:") for one in found), found.count(_PENDING)  # or "Deleted"

    def _alarms(self) -> list[Any]:
        with asking(AlarmsUnavailableError):
            pages = self.cloudwatch.get_paginator("describe_alarms")
            found = pages.paginate(AlarmNamePrefix=self.prefix)
            return [one for page in found for one in page["MetricAlarms"]]
