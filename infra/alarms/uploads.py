"""Alarms of uploads that S3 holds and Kafka does not hear of."""

from collections.abc import Iterator
from typing import Final

from aws_cdk import Duration

from infra.alarms.alarm import AlarmRule
from infra.constructs.functions.upload_functions import UploadFunctions

QUEUE_AGE_S_MAX: Final = 15 * 60


def upload_alarms(uploads: UploadFunctions) -> Iterator[AlarmRule]:
    """Late, given up, or not even looked for."""
    yield AlarmRule(
        name="uploads-are-late",
        meaning=f"A notification of an upload waits for over {QUEUE_AGE_S_MAX // 60} minutes.",
        metric=uploads.queue.queue.metric_approximate_age_of_oldest_message(
            period=Duration.minutes(1), statistic="Maximum"
        ),
        threshold=QUEUE_AGE_S_MAX,
        periods=3,
    )
    yield AlarmRule(
        name="uploads-are-dead-letters",
        meaning="Notifications of uploads were given up: something did not land in a day of tries.",
        metric=uploads.queue.dead_letters.metric_approximate_number_of_messages_visible(
            period=Duration.minutes(5), statistic="Maximum"
        ),
        threshold=0,
    )
    yield AlarmRule(
        name="upload-sweep-fails",
        meaning="The sweep cannot look for missed uploads, or found some that cannot land.",
        metric=uploads.sweep.function.metric_errors(period=Duration.minutes(15)),
        threshold=0,
        periods=2,
    )
