"""What ``fleetlane up`` prints once the platform runs."""

import json
from pathlib import Path
from typing import cast

from fleetlane.cli.commands.platform.up import addresses, commands_to_try
from fleetlane.events.flows.files import flows_in
from fleetlane.events.flows.flow import EventTimeRule, TimeUnit
from local.checkout import FLOWS
from local.spark.jobs import jobs_of
from operations.endpoints import Endpoints

NOW_MILLIS = 1_793_714_709_123


def test_every_address_is_in_a_line_of_its_own() -> None:
    endpoints = Endpoints(api="a", kafka="k", s3="s", dynamodb="d", region="r")

    assert [line.split() for line in addresses(endpoints).splitlines()] == [
        ["api", "a"],
        ["kafka", "k"],
        ["s3", "s"],
        ["dynamodb", "d"],
    ]


def test_the_message_to_try_is_a_position_of_now_as_the_checkouts_flow_takes_it() -> None:
    send = commands_to_try(None, now_millis=NOW_MILLIS)[1]

    gps = flows_in(FLOWS)["gps"]
    body = json.loads(send.split("'")[1])
    assert gps.event_time == EventTimeRule(field="at", unit=TimeUnit.RFC3339)
    assert body["at"] == "2026-11-03T14:05:09.123Z"
    assert gps.schema is not None
    assert body.keys() <= cast("dict[str, object]", gps.schema["properties"]).keys()


def test_the_commands_name_a_data_folder_that_is_not_the_usual_one() -> None:
    commands = commands_to_try(Path("else where"), now_millis=NOW_MILLIS)

    assert all(command.endswith("--data 'else where'") for command in commands)


def test_the_slow_lane_allows_what_was_asked_for_and_no_other_lane_does() -> None:
    jobs = "; ".join(jobs_of(slow_parse_ms_max=60_000).values()).split("; ")
    lanes = [one for one in jobs if "parse_lane" in one]

    assert [one for one in lanes if "parse_ms_max" in one] == [
        "parse_lane --lane slow --trigger_ms 1000 --parse_ms_max 60000"
    ]
