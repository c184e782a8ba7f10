"""A line of metrics is what CloudWatch wants of the embedded metric format."""

import json
import time

import pytest

from fleetlane.events.lanes import Lane
from fleetlane.events.metrics import NO_FLOW_STREAM, Dimension, FunctionMetric, Service
from lambdas.http.embedded_metrics import AcceptedLine, MetricLine

LINE = MetricLine(
    Service.INGEST, FunctionMetric.ACCEPTED, FunctionMetric.BODY_BYTES, dimension=Dimension.LANE
)


def test_a_line_says_what_its_numbers_are_and_when(capsys: pytest.CaptureFixture[str]) -> None:
    before_ms = time.time_ns() // 1_000_000

    LINE.write(2, 300, of=Lane.SLOW)

    told = json.loads(capsys.readouterr().out)
    about = told.pop("_aws")
    assert told == {"service": "ingest", "lane": "slow", "Accepted": [2], "BodyBytes": [300]}
    assert about["Timestamp"] >= before_ms
    assert about["CloudWatchMetrics"] == [
        {
            "Namespace": "Fleetlane",
            "Dimensions": [["service", "lane"]],
            "Metrics": [
                {"Name": "Accepted", "Unit": "Count"},
                {"Name": "BodyBytes", "Unit": "Bytes"},
            ],
        }
    ]


def test_a_line_without_a_dimension_has_its_service_alone(
    capsys: pytest.CaptureFixture[str],
) -> None:
    MetricLine(Service.RESPOOL, FunctionMetric.SWEPT).write(0)

    told = json.loads(capsys.readouterr().out)
    assert told["_aws"]["CloudWatchMetrics"][0]["Dimensions"] == [["service"]]
    assert told["Swept"] == [0]


def test_accepted_messages_are_a_metric_by_lane_and_their_number_one_by_stream_and_lane(
    capsys: pytest.CaptureFixture[str],
) -> None:
    line, stream = AcceptedLine(Service.INGEST), NO_FLOW_STREAM

    line.write(2, 300, lane=Lane.SLOW, stream=stream, arrival_millis=1_790_000_000_001)

    written = json.loads(capsys.readouterr().out)
    about = written.pop("_aws")
    shown = [(one["Dimensions"], one["Metrics"]) for one in about["CloudWatchMetrics"]]
    count, size = {"Name": "Accepted", "Unit": "Count"}, {"Name": "BodyBytes", "Unit": "Bytes"}
    assert about["Timestamp"] == 1_790_000_000_001
    assert shown == [
        ([["service", "lane"]], [count, size]),
        ([["service", "stream", "lane"]], [count]),
    ]
    assert written == {
        "service": "ingest",
        "stream": "(none)",
        "lane": "slow",
        "Accepted": [2],
        "BodyBytes": [300],
    }


def test_an_answered_repeat_is_a_metric_by_lane_alone(capsys: pytest.CaptureFixture[str]) -> None:
    AcceptedLine(Service.INGEST).write(1, 3, lane=Lane.FAST, stream=None, arrival_millis=1)

    [directive] = json.loads(capsys.readouterr().out)["_aws"]["CloudWatchMetrics"]
    assert directive["Dimensions"] == [["service", "lane"]]
