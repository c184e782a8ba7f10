"""A flow that blocks no more has answered what waited: its topic is read on, whoever ran when."""

from collections.abc import Callable, Iterator

import pytest

from clients.flows.store import FlowsUnavailableError
from clients.s3.blocked_messages import BlockedMessages
from fleetlane.events.flows.files import PublishedFlows
from fleetlane.events.lanes import Lane
from glue_jobs.parse_lane.halting import BlockingQueries
from glue_jobs.parse_lane.parsers.chosen_parsers import Flows
from tests.contract.aws_in_process import buckets
from tests.unit.glue_jobs.blocking.conftest import BLOCKING, OTHER, PARKING, TOPIC, WAITING, Started
from tests.unit.glue_jobs.conftest import FixedFlows


class NoFlows:
    """S3 is unavailable; what was read before said that the flow does not block."""

    def current(self) -> PublishedFlows:
        return FixedFlows(PARKING).current()

    def fresh(self, *, max_age_s: float) -> PublishedFlows:
        raise FlowsUnavailableError("flows", "connection refused")


@pytest.fixture
def blocked() -> Iterator[BlockedMessages]:
    """A message waits for an answer."""
    with buckets("parked") as s3:
        blocked = BlockedMessages(s3, "parked")
        blocked.put(WAITING)
        yield blocked


@pytest.fixture
def look(blocked: BlockedMessages, started: Started) -> Callable[[Flows], None]:
    """One look of a job that has just been started, by these flows."""

    def look(flows: Flows) -> None:
        BlockingQueries(
            Lane.STANDARD,
            start=started,
            topics=lambda: [TOPIC],
            blocked=blocked,
            flows=flows,
            publish=lambda _: None,
        ).check()

    return look


type Look = Callable[[Flows], None]


@pytest.mark.parametrize("flow", [PARKING, OTHER], ids=["it parks now", "it was withdrawn"])
def test_what_waited_goes_on_once_its_flow_blocks_no_more(
    look: Look, started: Started, blocked: BlockedMessages, flow: str
) -> None:
    look(FixedFlows(flow))

    assert started.counts == {"door": 1}
    assert blocked.waiting(TOPIC) == []


@pytest.mark.parametrize(
    "flows",
    [FixedFlows(BLOCKING), FixedFlows(PARKING, just_published=[BLOCKING]), NoFlows()],
    ids=["it blocks", "it blocks since a moment ago", "nobody knows"],
)
def test_otherwise_it_waits_on(
    look: Look, started: Started, blocked: BlockedMessages, flows: Flows
) -> None:
    look(flows)

    assert started.counts == {}
    assert blocked.waiting(TOPIC) == [WAITING]
