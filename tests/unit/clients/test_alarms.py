"""Whom a stage's alarms notify, by what SNS lists."""

from collections.abc import Iterator
from typing import Any

from clients.alarms import StageAlarms


class Pages:
    """A client of AWS whose one question has one page."""

    def __init__(self, **page: object) -> None:
        self._page = page

    def get_paginator(self, _: str) -> "Pages":
        return self

    def paginate(self, **_: str) -> Iterator[object]:
        yield self._page


def test_who_unsubscribed_is_not_notified() -> None:
    cloudwatch: Any = Pages(MetricAlarms=[{"AlarmActions": ["topic"]}])
    arns = ("arn:aws:sns:eu-central-1:1:topic:a", "PendingConfirmation", "Deleted")
    sns = Pages(Subscriptions=[{"SubscriptionArn": one} for one in arns])

    listeners = StageAlarms(cloudwatch=cloudwatch, sns=sns, prefix="fleetlane-").listeners()

    assert listeners == (1, 1)
