"""What is deployed starts and works: a stage's applications as their engine starts them."""

from pathlib import Path

import pytest

from fleetlane.events.lake.tables import EVENTS, PARSED, RAW, RECEIVED
from fleetlane.events.lanes import Lane
from tests.rehearsal.glue import Glue
from tests.rehearsal.messages import land
from tests.rehearsal.rehearsal import LAKE, kept_by, parsed_by, rows_of, running

pytestmark = [pytest.mark.spark, pytest.mark.kafka, pytest.mark.localstack]

MESSAGES = 6
LIMIT_S = 240.0
"""Of each wait; a first batch comes within half a minute on two free cores."""

KEPT = (EVENTS, RECEIVED, PARSED, RAW)


def test_a_lane_and_the_lake_do_their_work_as_glue_starts_them(glue: Glue, tmp_path: Path) -> None:
    receipts = land(glue.stage.ground, Lane.STANDARD, messages=MESSAGES)

    with running(glue, "standard", tmp_path) as process:
        parsed = parsed_by(glue, "standard", receipts, process, limit_s=LIMIT_S)
    with running(glue, LAKE, tmp_path) as process:
        kept = kept_by(glue, receipts, process, limit_s=LIMIT_S)

    assert (parsed.parsed, parsed.lost, kept.lost) == (MESSAGES, 0, 0)
    assert min(rows_of(glue.stage, KEPT).values()) >= MESSAGES
