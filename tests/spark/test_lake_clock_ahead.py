"""A message whose arrival was counted by a clock that was ahead, in the lake's hours."""

from dataclasses import replace

import pytest
from pyspark.sql import SparkSession

from fleetlane.events.job_arguments import LakeTables
from fleetlane.events.times import now_ms
from glue_jobs.fleet_watch.flow_watch import LakeHours
from tests.spark.lake_records import DAY_MS, HOUR_MS, Sent
from tests.spark.lakes import Lake, lake_in

pytestmark = pytest.mark.spark


@pytest.fixture
def lake(spark: SparkSession, tmp_path_factory: pytest.TempPathFactory) -> Lake:
    return lake_in(tmp_path_factory.mktemp("lake"), spark)


def test_no_hour_is_counted_before_it_is_over(lake: Lake) -> None:
    before = Sent(number=500, arrival_ms=now_ms() - 2 * HOUR_MS, stream="ahead")
    present = replace(before, number=501, arrival_ms=now_ms())
    ahead = replace(before, number=502, arrival_ms=now_ms() + 2 * DAY_MS)

    sent = [one.received() for one in (before, present, ahead)]
    lake.query("ahead", LakeTables.FLEET).write(0, sent)

    counted_ms = LakeHours(lake.session).latest_ms()
    assert counted_ms is not None
    assert counted_ms + HOUR_MS <= now_ms()
