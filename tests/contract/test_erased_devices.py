"""When devices were erased, as the lake's writers note it."""

from clients.s3.upkeep_requests import ErasedDevices
from fleetlane.events.job_arguments import LakeTables
from tests.contract.aws_in_process import buckets

BUCKET = "lake"


def test_nobody_was_erased_at_first() -> None:
    with buckets(BUCKET) as s3:
        assert ErasedDevices(s3, BUCKET, LakeTables.EVENTS).erased_until_ms() == {}


def test_a_device_s_last_erasure_counts_and_each_writer_has_its_own_note() -> None:
    with buckets(BUCKET) as s3:
        events = ErasedDevices(s3, BUCKET, LakeTables.EVENTS)
        fleet = ErasedDevices(s3, BUCKET, LakeTables.FLEET)
        events.note("d-1", until_ms=10)
        events.note("d-2", until_ms=20)
        events.note("d-1", until_ms=30)

        assert events.erased_until_ms() == {"d-1": 30, "d-2": 20}
        assert fleet.erased_until_ms() == {}
