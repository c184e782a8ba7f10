"""Counting uploads in CloudWatch's embedded metric format."""

from typing import Final

from fleetlane.events.envelope import Message
from fleetlane.events.errors import ProblemTag
from lambdas.http.embedded_metrics import MetricLine

_SERVICE: Final = "uploads"
_ISSUED: Final = MetricLine(_SERVICE, {"Issued": "Count"})
_REFUSED: Final = MetricLine(_SERVICE, {"Refused": "Count"}, dimension="tag")
_LANDED: Final = MetricLine(_SERVICE, {"Accepted": "Count", "BodyBytes": "Bytes"}, dimension="lane")
_SWEPT: Final = MetricLine(_SERVICE, {"Swept": "Count"})
_OVERRIDES_UNAVAILABLE: Final = MetricLine(_SERVICE, {"OverridesUnavailable": "Count"})


def count_issued() -> None:
    _ISSUED.write(1)


def count_refused(tag: ProblemTag) -> None:
    _REFUSED.write(1, of=tag)


def count_landed(message: Message) -> None:
    _LANDED.write(1, message.body_bytes, of=message.lane)


def count_swept(uploads: int) -> None:
    _SWEPT.write(uploads)


def count_overrides_unavailable() -> None:
    _OVERRIDES_UNAVAILABLE.write(1)
