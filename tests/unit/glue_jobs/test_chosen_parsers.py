"""Which parser a message gets, by the flows in force."""

from typing import Final

from fleetlane.events.errors import ParkedReason
from fleetlane.events.lanes import LANE_LIMITS, Lane
from fleetlane.parsers.sandbox.platforms import ParsesRuns
from glue_jobs.parse_lane.parsers.choices import ChosenParser, NoParser
from glue_jobs.parse_lane.parsers.chosen_parsers import ChosenParsers
from tests.unit.glue_jobs.conftest import FLOW, FixedFlows, chosen_parsers, message_of

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
