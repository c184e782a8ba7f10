"""What is erased of a device, and that nothing of it comes back."""

import pytest
from pyspark.sql import SparkSession

from fleetlane.events.job_arguments import LakeTables
from fleetlane.events.lake.tables import DAILY, EVENTS, PARKED, PARSED, RECEIVED
from glue_jobs.lake.upkeep import erased
from tests.spark.lake_records import HOUR_MS, MINUTE_MS, NOON_MS, Sent
from tests.spark.lakes import Lake, lake_in

pytestmark = pytest.mark.spark


@pytest.fixture(scope="module")
def lake(spark: SparkSession, tmp_path_factory: pytest.TempPathFactory) -> Lake:
    return lake_in(tmp_path_factory.mktemp("lake"), spark)


def test_what_an_erased_device_sent_before_comes_back_into_no_table(lake: Lake) -> None:
    until_ms = NOON_MS + MINUTE_MS
    before = [Sent(number=number, device_id="d-erased") for number in (340, 341)]
    after = Sent(number=342, device_id="d-erased", arrival_ms=until_ms + 1)
    events, fleet = lake.query("erased-events"), lake.query("erased-fleet", LakeTables.FLEET)
    lake.erased_until_ms["d-erased"] = until_ms

    late_ms = until_ms + HOUR_MS
    sent = [*before, after]
    events.write(0, [one.event(revision=1) for one in sent])
    events.write(1, [one.parked(parked_ms=late_ms) for one in sent])
    fleet.write(
        0, [one.received() for one in sent] + [one.parsed(parsed_ms=late_ms) for one in sent]
    )

    rows = {table.name: lake.rows(table, *sent) for table in (EVENTS, PARKED, RECEIVED, PARSED)}
    assert {name: len(its) for name, its in rows.items()} == dict.fromkeys(rows, 1)
    (daily,) = lake.table(DAILY).where("device_id = 'd-erased'").collect()
    assert daily.messages == 1


def test_one_devices_rows_are_erased_and_nobody_elses(lake: Lake) -> None:
    gone, other = Sent(number=320, device_id="d-gone"), Sent(number=321, device_id="d-stays")
    query = lake.query("erasure", LakeTables.FLEET)
    query.write(0, [gone.received(), other.received(), gone.parsed(), other.parsed()])

    done = {erased(lake.session, one, device_id="d-gone") for one in (RECEIVED, PARSED, DAILY)}

    assert done == {"1 rows of d-gone deleted"}
    assert [row.device_id for row in lake.rows(RECEIVED, gone, other)] == ["d-stays"]
