"""The pools of an application's scheduler, as Spark reads them."""

from pathlib import Path
from urllib.parse import urlsplit
from urllib.request import url2pathname
from xml.etree import ElementTree as ET

from fleetlane.events.lanes import BulkCause, Lane
from fleetlane.events.metrics import FLEET_WATCH
from fleetlane.events.topics import FAST_PARTITIONS_MAX
from glue_jobs.engine.session import PROMPT_QUERIES, written_pools


def test_each_prompt_query_has_a_pool_with_a_slot_of_its_own(tmp_path: Path) -> None:
    url = written_pools(tmp_path)

    pools = ET.fromstring(Path(url2pathname(urlsplit(url).path)).read_text())  # noqa: S314 - ours
    shares = {pool.attrib["name"]: pool.findtext("minShare") for pool in pools}
    own = {*PROMPT_QUERIES, "parse_lane_slow"}
    assert {name for name, share in shares.items() if share != "0"} == own


def test_a_query_in_real_time_has_all_slots_that_it_wants_first(tmp_path: Path) -> None:
    url = written_pools(tmp_path)

    pools = ET.fromstring(Path(url2pathname(urlsplit(url).path)).read_text())  # noqa: S314 - ours
    shares = {pool.attrib["name"]: int(pool.findtext("minShare") or 0) for pool in pools}
    assert shares["parse_lane_fast"] > 8 * FAST_PARTITIONS_MAX
    assert max(share for name, share in shares.items() if name != "parse_lane_fast") == 1


def test_each_bulk_cause_weighs_more_than_what_is_over_its_budget(tmp_path: Path) -> None:
    url = written_pools(tmp_path)

    pools = ET.fromstring(Path(url2pathname(urlsplit(url).path)).read_text())  # noqa: S314 - ours
    weights = {pool.attrib["name"]: pool.findtext("weight") for pool in pools}
    assert {weights[f"parse_lane_bulk.{cause}"] for cause in BulkCause} == {"2"}
    assert "parse_lane_bulk.over" not in weights


def test_they_are_named_as_the_queries_are() -> None:
    lanes = {f"parse_lane_{lane}" for lane in (Lane.FAST, Lane.STANDARD)}
    assert set(PROMPT_QUERIES) == lanes | {"fleet_metadata", FLEET_WATCH}
