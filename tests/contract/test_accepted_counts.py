"""The counts of accepted messages: those in CloudWatch and those in a log are the same."""

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol

import boto3
import pytest
from moto import mock_aws

from clients.accepted_counts import (
    MINUTE_MS,
    AcceptedCounts,
    AcceptedCountsUnavailableError,
    AcceptedMinute,
    CloudWatchAcceptedCounts,
    LoggedAcceptedCounts,
)
from clients.aws import client_config
from fleetlane.events.lanes import Lane
from fleetlane.events.metrics import NO_FLOW_STREAM, Service
from lambdas.http.embedded_metrics import AcceptedLine
from operations.endpoints import REGION

if TYPE_CHECKING:
    from mypy_boto3_cloudwatch.client import CloudWatchClient

MINUTE = 1_790_000_040_000
INGEST, UPLOADS = AcceptedLine(Service.INGEST), AcceptedLine(Service.UPLOADS)


class Counted(Protocol):
    """Counts, and where the lines of the functions go to become counts."""

    @property
    def counts(self) -> AcceptedCounts: ...
    def log(self, lines: str) -> None: ...


@dataclass
class InCloudWatch:
    """Makes metrics of lines, as CloudWatch does by the embedded metric format's specification."""

    cloudwatch: "CloudWatchClient"

    @property
    def counts(self) -> AcceptedCounts:
        return CloudWatchAcceptedCounts(self.cloudwatch)

    def log(self, lines: str) -> None:
        for line in map(json.loads, lines.splitlines()):
            for directive in line["_aws"]["CloudWatchMetrics"]:
                for data in _metric_data(line, directive):
                    self.cloudwatch.put_metric_data(
                        Namespace=directive["Namespace"], MetricData=[data]
                    )


def _metric_data(line: Mapping[str, Any], directive: Mapping[str, Any]) -> Iterator[Any]:
    for names in directive["Dimensions"]:
        for metric in directive["Metrics"]:
            for value in line[metric["Name"]]:
                yield {
                    "MetricName": metric["Name"],
                    "Dimensions": [{"Name": name, "Value": line[name]} for name in names],
                    "Timestamp": line["_aws"]["Timestamp"] / 1_000,
                    "Value": value,
                    "Unit": metric["Unit"],
                }


class InLog:
    """A log with other lines in it, and the beginning of one at its end."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._path.write_text('{"level":"WARNING","message":"\\"Accepted\\":[1]"}\nTraceback\n')
        self.counts: AcceptedCounts = LoggedAcceptedCounts(path)

    def log(self, lines: str) -> None:
        whole = re.sub(r'\{"_aws.{20}\Z', "", self._path.read_text())
        self._path.write_text(whole + lines + lines[:26])


@pytest.fixture(params=["moto", "log"])
def counted(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Counted]:
    if request.param == "log":
        yield InLog(tmp_path / "gateway.log")
    else:
        with mock_aws():
            yield InCloudWatch(boto3.client("cloudwatch", region_name="us-east-1"))


def written(
    capsys: pytest.CaptureFixture[str], *lines: tuple[AcceptedLine, int, Lane, str | None, int]
) -> str:
    for line, count, lane, stream, at_ms in lines:
        line.write(count, 10, lane=lane, stream=stream, arrival_millis=at_ms)
    return capsys.readouterr().out


def at(stream: str, lane: Lane, minute_ms: int) -> AcceptedMinute:
    return AcceptedMinute(stream=stream, lane=lane, minute_ms=minute_ms)


def test_messages_count_by_stream_lane_and_minute_of_arrival(
    counted: Counted, capsys: pytest.CaptureFixture[str]
) -> None:
    counted.log(
        written(
            capsys,
            (INGEST, 1, Lane.FAST, "door", MINUTE),
            (INGEST, 2, Lane.FAST, "door", MINUTE + MINUTE_MS - 1),
            (INGEST, 5, Lane.STANDARD, "door", MINUTE + 7),
            (INGEST, 7, Lane.FAST, "door", MINUTE + MINUTE_MS),
            (INGEST, 11, Lane.SLOW, NO_FLOW_STREAM, MINUTE),
        )
    )

    counts = counted.counts.between(MINUTE, MINUTE + 2 * MINUTE_MS)

    assert counts == {
        at("door", Lane.FAST, MINUTE): 3,
        at("door", Lane.STANDARD, MINUTE): 5,
        at("door", Lane.FAST, MINUTE + MINUTE_MS): 7,
        at(NO_FLOW_STREAM, Lane.SLOW, MINUTE): 11,
    }


def test_uploads_and_requests_count_together(
    counted: Counted, capsys: pytest.CaptureFixture[str]
) -> None:
    lines = ((one, 2, Lane.SLOW, "gps", MINUTE) for one in (INGEST, UPLOADS))
    counted.log(written(capsys, *lines))

    counts = counted.counts.between(MINUTE, MINUTE + MINUTE_MS)

    assert counts == {at("gps", Lane.SLOW, MINUTE): 4}


def test_an_answered_repeat_counts_for_no_stream(
    counted: Counted, capsys: pytest.CaptureFixture[str]
) -> None:
    counted.log(written(capsys, (INGEST, 1, Lane.FAST, None, MINUTE)))

    assert counted.counts.between(MINUTE, MINUTE + MINUTE_MS) == {}


def test_minutes_outside_of_the_range_are_left_out(
    counted: Counted, capsys: pytest.CaptureFixture[str]
) -> None:
    minutes = (MINUTE - MINUTE_MS, MINUTE, MINUTE + MINUTE_MS)
    counted.log(written(capsys, *((INGEST, 1, Lane.FAST, "door", one) for one in minutes)))

    counts = counted.counts.between(MINUTE - 1, MINUTE + MINUTE_MS)

    assert counts == {at("door", Lane.FAST, MINUTE): 1}


def test_what_is_logged_later_is_counted_later(
    counted: Counted, capsys: pytest.CaptureFixture[str]
) -> None:
    line = (INGEST, 1, Lane.FAST, "door", MINUTE)
    seen: Sequence[int] = []
    for _ in range(2):
        counted.log(written(capsys, line))
        seen = [*seen, *counted.counts.between(MINUTE, MINUTE + MINUTE_MS).values()]

    assert seen == [1, 2]


def test_more_streams_than_one_call_takes_are_all_counted(
    capsys: pytest.CaptureFixture[str],
) -> None:
    streams = [f"s-{number}" for number in range(501)]
    with mock_aws():
        counted = InCloudWatch(boto3.client("cloudwatch", region_name="us-east-1"))
        counted.log(written(capsys, *((INGEST, 1, Lane.FAST, one, MINUTE) for one in streams)))

        counts = counted.counts.between(MINUTE, MINUTE + MINUTE_MS)

    assert {minute.stream for minute in counts} == set(streams)


def test_without_cloudwatch_there_is_an_error_of_ours(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("AWS_ACCESS_KEY_ID", "test")
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", "test")
    nobody = boto3.client(
        "cloudwatch", region_name=REGION, endpoint_url="http://127.0.0.1:9", config=client_config()
    )

    with pytest.raises(AcceptedCountsUnavailableError):
        CloudWatchAcceptedCounts(nobody).between(MINUTE, MINUTE + MINUTE_MS)


def test_without_a_log_there_is_the_same_error(tmp_path: Path) -> None:
    with pytest.raises(AcceptedCountsUnavailableError):
        LoggedAcceptedCounts(tmp_path / "gateway.log").between(MINUTE, MINUTE + MINUTE_MS)


def test_a_log_that_was_emptied_is_read_from_its_beginning(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    counted = InLog(tmp_path / "gateway.log")
    line = (INGEST, 1, Lane.FAST, "door", MINUTE)
    counted.log(written(capsys, line, line, line))
    counted.counts.between(MINUTE, MINUTE + MINUTE_MS)

    (tmp_path / "gateway.log").write_text(written(capsys, line))

    assert list(counted.counts.between(MINUTE, MINUTE + MINUTE_MS).values()) == [1]
