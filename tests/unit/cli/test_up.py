"""What ``fleetlane up`` prints once the platform runs."""

from pathlib import Path

import pytest
from msgspec.structs import replace

from fleetlane.cli.commands.platform.up import addresses, commands_to_try, slow_lane_line
from fleetlane.events.flows.flow import EventTimeRule, Flow, IdentityRule, ParserRule, TimeUnit
from local.spark.jobs import jobs_of
from operations.endpoints import Endpoints

NOW_MILLIS = 1_793_714_709_123
BINARY = Flow(stream="thermo", owner="acme", parsers=(ParserRule(use="acme-thermo==1.2.0"),))
JSON = Flow(stream="weather", owner="acme", parsers=(ParserRule(use="json"),))
PARTICULAR_JSON = (
    replace(JSON, parsers=(ParserRule(use="json", options={"events_at": "entries"}),)),
    replace(JSON, parsers=(ParserRule(use="json", firmware=">=2"),)),
    replace(JSON, identity=IdentityRule(by="fields", fields=("lat",))),
)


def test_every_address_is_in_a_line_of_its_own() -> None:
    endpoints = Endpoints(api="a", kafka="k", s3="s", dynamodb="d", region="r")

    assert [line.split() for line in addresses(endpoints).splitlines()] == [
        ["api", "a"],
        ["kafka", "k"],
        ["s3", "s"],
        ["dynamodb", "d"],
    ]


def test_the_stream_to_try_is_one_that_takes_json() -> None:
    send = commands_to_try([BINARY, JSON], None, now_millis=NOW_MILLIS)[1]

    assert send.endswith("| ./fleetlane send weather - --device my-device")


def test_the_canarys_streams_are_left_to_the_canary() -> None:
    canary = replace(JSON, stream="canary-slow")

    commands = commands_to_try([canary, JSON], None, now_millis=NOW_MILLIS)

    assert not any("canary" in command for command in commands)


@pytest.mark.parametrize(
    ("unit", "when"),
    [
        (TimeUnit.MILLISECONDS, "1793714709123"),
        (TimeUnit.SECONDS, "1793714709"),
        (TimeUnit.RFC3339, '"2026-11-03T14:05:09.123Z"'),
    ],
)
def test_the_message_to_try_carries_its_time_as_its_flow_wants_it(
    unit: TimeUnit, when: str
) -> None:
    flow = replace(JSON, event_time=EventTimeRule(field="at", unit=unit))

    send = commands_to_try([flow], None, now_millis=NOW_MILLIS)[1]

    assert send.startswith(f"""echo '{{"at": {when}, "celsius": 21.5}}' |""")


@pytest.mark.parametrize("flow", PARTICULAR_JSON)
def test_a_flow_that_wants_json_of_a_certain_shape_is_not_guessed_at(flow: Flow) -> None:
    send = commands_to_try([flow], None, now_millis=NOW_MILLIS)[1]

    assert send == "./fleetlane send weather FILE --device my-device"


def test_where_no_stream_takes_json_a_file_is_asked_for() -> None:
    send = commands_to_try([BINARY], None, now_millis=NOW_MILLIS)[1]

    assert send == "./fleetlane send thermo FILE --device my-device"


def test_the_commands_name_a_data_folder_that_is_not_the_usual_one() -> None:
    commands = commands_to_try([JSON], Path("else where"), now_millis=NOW_MILLIS)

    assert all(command.endswith("--data 'else where'") for command in commands)


def test_the_slow_lane_allows_what_was_asked_for_and_no_other_lane_does() -> None:
    jobs = jobs_of(slow_parse_ms_max=60_000).split("; ")
    lanes = [one for one in jobs if "parse_lane" in one]

    assert [one for one in lanes if "parse_ms_max" in one] == [
        "parse_lane --lane slow --trigger_ms 1000 --parse_ms_max 60000"
    ]


def test_what_the_slow_lane_allows_is_printed() -> None:
    assert slow_lane_line(1_200).startswith("The slow lane allows a message 1.2 s (60 s in AWS)")
