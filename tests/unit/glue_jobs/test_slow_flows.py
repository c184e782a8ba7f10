"""A flow of which some messages are slow: in the fast lane its others go on."""

from collections import Counter
from collections.abc import Sequence
from itertools import islice
from pathlib import Path
from typing import Final

from fleetlane.events.lanes import Lane
from fleetlane.events.metadata import Deferral, Outcome, Parsed, parsed_from
from fleetlane.parsers.sandbox.platforms import ParsesRuns
from glue_jobs.parse_lane.results.output_batches import OutputRecord
from tests.unit.glue_jobs.conftest import message_of, raw_batch, record_of, rows_of
from tests.unit.glue_jobs.team_worker import team_worker

SOMETIMES_SLOW: Final = """
import time

class Parser:
    def parse(self, message):
        if message == b"slow":
            time.sleep(10)
        yield {}
"""
UNTRIED: Final = Deferral.TIME_BUDGET_USED_UP


def told_of(
    sandboxes: ParsesRuns, folder: Path, *batches: Sequence[bytes]
) -> list[tuple[bytes, Parsed]]:
    """Messages in batches of a flow, and what is reported of them, in their order."""
    bodies = [body for batch in batches for body in batch]
    with team_worker(folder) as worker:
        worker.deploy("tank==1.0", SOMETIMES_SLOW)
        worker.publish(tank="tank==1.0")
        lane = worker.lane(sandboxes, Lane.FAST)
        records = (
            record_of(message_of(body, stream="tank", raw_id=f"1{place:032x}"))
            for place, body in enumerate(bodies)
        )
        rows = list[OutputRecord]()
        for batch in batches:
            lane.begin_batch()
            rows += rows_of(lane.outputs_of(raw_batch(islice(records, len(batch)))))
    told = [parsed_from(row.value or b"") for row in rows if row.topic == "fleet.parsed"]
    return list(zip(bodies, sorted(told, key=lambda one: one.id), strict=True))


def test_quick_messages_of_a_flow_with_too_many_slow_ones_are_parsed_in_their_lane(
    sandboxes: ParsesRuns, tmp_path: Path
) -> None:
    well, sick = [b"quick"] * 1_000, [b"slow", *[b"quick"] * 99] * 10

    told = told_of(sandboxes, tmp_path, well, sick)

    outcomes = Counter((body, one.outcome) for body, one in told)
    assert outcomes == {(b"slow", Outcome.DIVERTED): 10, (b"quick", Outcome.PARSED): 1_990}
    slow = [(one.reason, one.put_off) for body, one in told if body == b"slow"]
    assert slow.count((None, UNTRIED)) >= 5


def test_a_flow_of_slow_messages_alone_is_not_tried_for_long(
    sandboxes: ParsesRuns, tmp_path: Path
) -> None:
    told = told_of(sandboxes, tmp_path, [b"slow"] * 1_000)

    assert [one.put_off for _, one in told[100:]] == [UNTRIED] * 900
    assert sum(one.parse_us > 0 for _, one in told) < 50
