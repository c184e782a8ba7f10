"""An artifact that S3 never gives holds up its own flow alone; an outage of S3 parks nothing."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from fleetlane.events.envelope_reading import message_from
from fleetlane.events.lanes import Lane
from fleetlane.events.metadata import Deferral, Outcome
from fleetlane.parsers.sandbox.platforms import ParsesRuns
from glue_jobs.parse_lane.lane_parser import LaneParser
from glue_jobs.parse_lane.parsers.chosen_parsers import BACK_OFF_S
from glue_jobs.parse_lane.parsers.programs import FETCHES_MAX
from glue_jobs.parse_lane.reading.raw_batches import RawRecord
from glue_jobs.parse_lane.results.output_batches import OutputRecord
from tests.unit.glue_jobs.conftest import message_of, raw_batch, record_of, rows_of
from tests.unit.glue_jobs.team_worker import Worker, batch, team_worker

LANES = [Lane.FAST, Lane.STANDARD, Lane.SLOW]
ROUNDS_MAX = 20
TWO_RULES = """
stream = "tank"
owner = "acme"
[[parsers]]
use = "tank==1.0"
firmware = ">=2"
options = { litres_max = 10 }
[[parsers]]
use = "tank==1.0"
"""


@pytest.fixture
def sick(tmp_path: Path) -> Iterator[Worker]:
    """Two flows are in force; S3 gives the artifact of one, and never that of the other."""
    with team_worker(tmp_path) as worker:
        for stream in ("tank", "well"):
            worker.deploy(f"{stream}==1.0")
        worker.publish(tank="tank==1.0", well="well==1.0")
        worker.not_given.add("tank==1.0")
        yield worker


def tried_again(worker: Worker, lane: LaneParser, record: RawRecord) -> tuple[RawRecord, str]:
    """Try a message once more, as long later as a parser is left alone; and where it went."""
    worker.now_s += BACK_OFF_S
    lane.begin_batch()
    moved, _ = rows_of(lane.outputs_of(raw_batch([record])))
    return as_raw(moved), moved.topic


def as_raw(row: OutputRecord) -> RawRecord:
    return RawRecord(row.key, row.value, list(row.headers or ()), row.topic, 0, 1)


def header_of(record: RawRecord, name: str) -> str:
    return (dict(record.headers)[name] or b"").decode()


@pytest.mark.parametrize("lane", LANES)
def test_it_holds_up_its_own_flow_alone(sick: Worker, sandboxes: ParsesRuns, lane: Lane) -> None:
    versions, told = batch(sick.lane(sandboxes, lane), "tank", "well", "tank", "well")

    assert versions == ["1.0", "1.0"]
    assert {(one.stream, one.outcome, one.put_off) for one in told} == {
        ("tank", Outcome.DIVERTED, Deferral.PARSER_UNAVAILABLE),
        ("well", Outcome.PARSED, None),
    }


def test_its_messages_wait_in_the_slow_lane_and_are_parked_after_their_tries(
    sick: Worker, sandboxes: ParsesRuns
) -> None:
    slow_lane, record = sick.lane(sandboxes, Lane.SLOW), record_of(message_of(b"x", stream="tank"))

    topics = list[str]()
    while "parked" not in topics and len(topics) < ROUNDS_MAX:
        record, topic = tried_again(sick, slow_lane, record)
        topics.append(topic)

    assert topics == ["raw.slow"] * (FETCHES_MAX + 1) + ["parked"]
    assert header_of(record, "ce_parkedreason") == "parser_failed"
    assert "parsers/acme/tank/1.0.zip cannot be reached" in header_of(record, "ce_parkeddetail")


def test_a_gone_artifact_counts_as_a_try_from_the_first_time_on(
    sick: Worker, sandboxes: ParsesRuns
) -> None:
    sick.not_given.clear()
    sick.parsers._s3.delete_object(Bucket="flows", Key="parsers/acme/tank/1.0.zip")
    slow_lane, record = sick.lane(sandboxes, Lane.SLOW), record_of(message_of(b"x", stream="tank"))

    topics = list[str]()
    for _ in range(3):
        record, topic = tried_again(sick, slow_lane, record)
        topics.append(topic)

    assert topics == ["raw.slow", "raw.slow", "parked"]
    assert header_of(record, "ce_parkeddetail").startswith("ArtifactMissingError")


def test_an_outage_of_s3_is_no_try_however_long_it_lasts(
    sick: Worker, sandboxes: ParsesRuns
) -> None:
    sick.is_down = True
    slow_lane, record = sick.lane(sandboxes, Lane.SLOW), record_of(message_of(b"x", stream="tank"))

    for _ in range(ROUNDS_MAX):
        record, _ = tried_again(sick, slow_lane, record)

    again = message_from(record.headers, record.value)
    assert (again.attempt, again.slow_tries) == (2, 0)


def test_a_parser_that_is_there_goes_on_in_an_outage_in_which_another_is_unavailable(
    sick: Worker, sandboxes: ParsesRuns
) -> None:
    slow_lane = sick.lane(sandboxes, Lane.SLOW)
    batch(slow_lane, "well")
    sick.is_down = True

    versions, _ = batch(slow_lane, "tank", "well")

    assert versions == ["1.0"]


def test_what_is_given_in_the_end_is_parsed(sick: Worker, sandboxes: ParsesRuns) -> None:
    slow_lane, record = sick.lane(sandboxes, Lane.SLOW), record_of(message_of(b"x", stream="tank"))
    record, _ = tried_again(sick, slow_lane, record)

    sick.not_given.clear()
    sick.now_s += 10 * BACK_OFF_S
    slow_lane.begin_batch()
    rows = rows_of(slow_lane.outputs_of(raw_batch([record])))

    assert [row.topic for row in rows] == ["canonical.tank", "fleet.parsed"]


def test_earlier_flows_that_cannot_be_read_defer_their_own_flow_alone(
    sick: Worker, sandboxes: ParsesRuns
) -> None:
    sick.deploy("tank==1.1", "1 / 0")
    sick.publish(tank="tank==1.1", well="well==1.0")
    sick.is_history_away = True

    versions, told = batch(sick.lane(sandboxes), "tank", "well")

    assert versions == ["1.0"]
    assert {one.put_off for one in told if one.stream == "tank"} == {Deferral.PARSER_UNAVAILABLE}


def test_one_that_is_not_given_is_asked_for_once_for_all_options(
    sick: Worker, sandboxes: ParsesRuns
) -> None:
    sick.publish_files(TWO_RULES)
    messages = [message_of(b"x", stream="tank", firmware=firmware) for firmware in ("1.0", "2.0")]
    lane = sick.lane(sandboxes)

    rows = rows_of(lane.outputs_of(raw_batch(map(record_of, messages))))

    assert [row.topic for row in rows] == ["raw.slow", "fleet.parsed"] * 2
    assert sick.asked == ["tank==1.0"]
