"""What ``fleetlane device erase`` says of what it leaves behind."""

from fleetlane.cli.commands.device.erase import remaining
from operations.devices.erasure import DeviceTraces

NOWHERE = frozenset[str]()


def test_every_place_where_something_stays_is_named_with_its_end() -> None:
    traces = DeviceTraces(records={"parked": 1, "raw.slow": 2}, landed=NOWHERE, parked=NOWHERE)

    lines = list(remaining(traces, archive_days=90))

    assert lines[:4] == [
        "raw.slow: up to 3 days, then Kafka drops it",
        "canonical.*: up to 7 days, then Kafka drops it",
        "unique.*: up to 7 days, then Kafka drops it",
        "fleet.received: up to 7 days, then Kafka drops it",
    ]
    assert "parked: 1 record, kept as long as the topic exists" in lines
    assert any(line.startswith("bodies in S3 whose records Kafka has dropped") for line in lines)


def test_without_an_archive_the_rows_of_a_former_one_are_named() -> None:
    traces = DeviceTraces(records={}, landed=NOWHERE, parked=NOWHERE)

    without, with_one = (list(remaining(traces, archive_days=days)) for days in (0, 90))

    assert [line for line in without if line not in with_one] == [
        "rows in the lake's table raw, if there ever was an archive: until it is dropped"
    ]
