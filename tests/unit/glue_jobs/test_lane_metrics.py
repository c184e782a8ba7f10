"""What a lane's batches say of it."""

from typing import Any

import boto3
import pytest
from botocore.stub import Stubber
from pyspark.sql import Row

from fleetlane.events.metrics import Dimension
from fleetlane.events.topics import FLEET_PARSED, PARKED
from glue_jobs.engine.cloudwatch_metrics import published_to
from glue_jobs.parse_lane.lane_metrics import LaneValues, lane_values, output_counts, together

NOW_MS = 1_762_178_709_123
IDLE = {"LagSeconds": 0, "Parsed": 0, "Parked": 0, "ByOlderParser": 0, "ChildrenUsedUp": 0}


@pytest.mark.parametrize(
    ("observed", "values"),
    [
        ({}, IDLE),
        (
            {
                "arrivals": Row(oldest_ms=NOW_MS - 2_500),
                "outputs": Row(Parsed=7, Parked=2, ByOlderParser=3, ChildrenUsedUp=1),
            },
            {"LagSeconds": 2.5, "Parsed": 7, "Parked": 2, "ByOlderParser": 3, "ChildrenUsedUp": 1},
        ),
        (
            {"arrivals": Row(oldest_ms=None), "outputs": Row(Parsed=0, Parked=1)},
            {**IDLE, "Parked": 1},
        ),
        ({"arrivals": Row(oldest_ms=NOW_MS + 9)}, IDLE),
    ],
    ids=["idle", "busy", "no-message-of-ours", "clocks-differ"],
)
def test_a_batch_says_how_late_it_was_and_what_came_of_it(
    observed: dict[str, Row], values: LaneValues
) -> None:
    assert lane_values(observed, now_ms=NOW_MS) == values


def test_stretches_of_time_add_up_to_the_worst_lag_and_all_messages() -> None:
    one = {"LagSeconds": 9.0, "Parsed": 1, "Parked": 2}
    other = {"LagSeconds": 3.0, "Parsed": 10, "Parked": 20}

    assert together(together({}, one), other) == {"LagSeconds": 9.0, "Parsed": 11, "Parked": 22}


def test_a_second_in_which_no_worker_counted_anything_takes_no_counts_away() -> None:
    counted = {"Parsed": 7, "ChildrenUsedUp": 1, "LagSeconds": 2.0}

    assert together(counted, {"LagSeconds": 0.0}) == counted


def cloudwatch() -> Any:
    return boto3.client(
        "cloudwatch",
        region_name="eu-central-1",
        aws_access_key_id="test",
        aws_secret_access_key="test",  # noqa: S106 - nobody's
    )


def test_values_are_published_under_their_lane() -> None:
    client = cloudwatch()
    dimensions = [{"Name": "lane", "Value": "fast"}]
    expected = {
        "Namespace": "Fleetlane",
        "MetricData": [{"MetricName": "LagSeconds", "Value": 1.5, "Dimensions": dimensions}],
    }

    with Stubber(client) as stub:
        stub.add_response("put_metric_data", {}, expected)
        published_to("Fleetlane", Dimension.LANE, "fast", cloudwatch=client)({"LagSeconds": 1.5})

    stub.assert_no_pending_responses()


def test_cloudwatch_being_unavailable_ends_nothing(caplog: pytest.LogCaptureFixture) -> None:
    client = cloudwatch()

    with Stubber(client) as stub:
        stub.add_client_error("put_metric_data", "InternalServiceFault")
        published_to("Fleetlane", Dimension.LANE, "fast", cloudwatch=client)({"Parked": 1})

    assert "metrics of lane fast not published" in caplog.text


def test_what_spark_does_not_see_is_counted_alike() -> None:
    row, older = b'{"id":"1"}', b'{"instead_of":"json==1"}'
    topics = [FLEET_PARSED] * 4 + [PARKED, "raw.slow"]

    counts = output_counts(topics, [row, row, row, older, b"", None])

    assert counts == {"Parsed": 2, "Parked": 1, "ByOlderParser": 1, "ChildrenUsedUp": 0}


def test_a_body_that_looks_like_a_row_of_ours_is_counted_as_none() -> None:
    forged = b'{"instead_of":"json==1","put_off":"children_used_up"}'

    counts = output_counts([FLEET_PARSED, PARKED, "raw.slow"], [b"{}", forged, forged])

    assert (counts["ByOlderParser"], counts["ChildrenUsedUp"]) == (0, 0)
