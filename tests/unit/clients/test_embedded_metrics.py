"""A line of metrics is what CloudWatch wants of the embedded metric format."""

import json
import time

import pytest

from fleetlane.events.lanes import Lane
from fleetlane.events.metrics import Dimension, Service
from lambdas.http.embedded_metrics import MetricLine

LINE = MetricLine(
    Service.INGEST, {"Accepted": "Count", "BodyBytes": "Bytes"}, dimension=Dimension.LANE
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
    MetricLine(Service.RESPOOL, {"Swept": "Count"}).write(0)

    told = json.loads(capsys.readouterr().out)
    assert told["_aws"]["CloudWatchMetrics"][0]["Dimensions"] == [["service"]]
    assert told["Swept"] == [0]
