"""Which parser a message gets, by the flows in force."""

from typing import Final

import pytest

from fleetlane.events.errors import ParkedReason
from fleetlane.events.lanes import LANE_LIMITS, Lane
from fleetlane.parsers.sandbox.platforms import ParsesRuns
from glue_jobs.parse_lane.parsers.chosen_parsers import (
    ChosenParsers,
)
from glue_jobs.parse_lane.parsers.no_parser import NoParserError
from tests.unit.glue_jobs.conftest import FLOW, FixedFlows, chosen_parsers, message_of

NEW: Final = 'stream = "new"\nowner = "acme"\n[[parsers]]\nuse = "json"\n'
BODY = b"{}"


def parsers(sandboxes: ParsesRuns) -> ChosenParsers:
    flows = FixedFlows(FLOW, just_published=[NEW])
    return chosen_parsers(flows, sandboxes, LANE_LIMITS[Lane.STANDARD])


def test_a_message_has_the_flow_that_was_published_a_moment_ago(sandboxes: ParsesRuns) -> None:
    chosen = parsers(sandboxes).chosen(message_of(BODY, stream="new"))

    assert chosen.assignment.flow.stream == "new"


def test_a_message_has_none_where_the_youngest_flows_have_none(sandboxes: ParsesRuns) -> None:
    with pytest.raises(NoParserError, match="'nobodys'") as refusal:
        parsers(sandboxes).chosen(message_of(BODY, stream="nobodys"))

    assert refusal.value.parked_reason is ParkedReason.NO_FLOW
