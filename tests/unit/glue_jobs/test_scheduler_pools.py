"""The pools of an application's scheduler, as Spark reads them."""

from importlib.resources import files
from typing import Final
from xml.etree import ElementTree as ET

from fleetlane.events.lanes import REAL_TIME_LANES, BulkCause, Lane
from fleetlane.events.metrics import FLEET_WATCH
from fleetlane.events.topics import FAST_PARTITIONS_MAX

POOLS: Final = ET.fromstring(files("glue_jobs.engine").joinpath("pools.xml").read_text())  # noqa: S314 - ours
SHARES: Final = {pool.attrib["name"]: int(pool.findtext("minShare") or 0) for pool in POOLS}
WEIGHTS: Final = {pool.attrib["name"]: int(pool.findtext("weight") or 0) for pool in POOLS}
PROMPT: Final = {"parse_lane_fast", "parse_lane_standard", "fleet_metadata", FLEET_WATCH}


def test_each_prompt_query_has_a_pool_with_a_slot_of_its_own() -> None:
    assert {name for name, share in SHARES.items() if share} == {*PROMPT, "parse_lane_slow"}


def test_a_query_in_real_time_has_all_slots_that_it_wants_first() -> None:
    real_time = {f"parse_lane_{lane}" for lane in REAL_TIME_LANES}

    assert all(SHARES[name] > 8 * FAST_PARTITIONS_MAX for name in real_time)
    assert max(share for name, share in SHARES.items() if name not in real_time) == 1


def test_each_bulk_cause_weighs_more_than_what_is_over_its_budget() -> None:
    assert {WEIGHTS[f"parse_lane_bulk.{cause}"] for cause in BulkCause} == {2}
    assert "parse_lane_bulk.over" not in WEIGHTS


def test_there_is_a_pool_for_no_lane_that_there_is_not() -> None:
    lanes = {name.removeprefix("parse_lane_").partition(".")[0] for name in {*SHARES} - PROMPT}

    assert lanes <= {*Lane}
