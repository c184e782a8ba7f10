"""Which parser a message gets, by the flows in force."""

from collections.abc import Callable
from typing import Final

from fleetlane.events.errors import ParkedReason
from fleetlane.events.flows.flow import ParserRule
from fleetlane.events.lanes import LANE_LIMITS, Lane
from fleetlane.events.metadata import parsed_from
from fleetlane.parsers.sandbox.platforms import ParsesRuns
from glue_jobs.parse_lane.lane_parser import LaneParser
from glue_jobs.parse_lane.parsers.choices import ChosenParser, NoParser
from glue_jobs.parse_lane.parsers.chosen_parsers import ChosenParsers
from tests.unit.glue_jobs.conftest import (
    FLOW,
    FixedFlows,
    chosen_parsers,
    message_of,
    raw_batch,
    record_of,
    rows_of,
)

NEW: Final = 'stream = "new"\nowner = "acme"\n[[parsers]]\nuse = "json"\n'
BODY = b"{}"


def parsers(sandboxes: ParsesRuns) -> ChosenParsers:
    flows = FixedFlows(FLOW, just_published=[NEW])
    return chosen_parsers(flows, sandboxes, LANE_LIMITS[Lane.STANDARD])


def test_a_message_has_the_flow_that_was_published_a_moment_ago(sandboxes: ParsesRuns) -> None:
    chosen = parsers(sandboxes).chosen(message_of(BODY, stream="new"))

    assert isinstance(chosen, ChosenParser)
    assert chosen.assignment.flow.stream == "new"


def test_a_message_has_none_where_the_youngest_flows_have_none(sandboxes: ParsesRuns) -> None:
    choice = parsers(sandboxes).chosen(message_of(BODY, stream="nobodys"))

    assert choice == NoParser(problem="no flow takes stream 'nobodys'", reason=ParkedReason.NO_FLOW)


CANARY: Final = """
stream = "new"
owner = "acme"
[[parsers]]
use = "ndjson"
share = 0.3
[[parsers]]
use = "json"
"""


def test_a_canary_gets_the_messages_of_its_share_of_devices_and_no_others(
    lane_parser: Callable[..., LaneParser],
) -> None:
    devices = [f"d-{number}" for number in range(60)]
    messages = [message_of(BODY, stream="new", device_id=one) for one in devices * 2]

    rows = rows_of(
        lane_parser(Lane.STANDARD, CANARY).outputs_of(
            raw_batch([record_of(one) for one in messages])
        )
    )

    told = [parsed_from(row.value or b"") for row in rows if row.topic == "fleet.parsed"]
    rule = ParserRule(use="ndjson", share=0.3)
    assert len(told) == len(messages), {(one.parser, one.outcome) for one in told}
    assert {one.device_id for one in told if one.parser == "ndjson@0.1.0"} == {
        one for one in devices if rule.takes(one)
    }
    assert {one.device_id for one in told if one.parser == "json@0.1.0"} == {
        one for one in devices if not rule.takes(one)
    }
