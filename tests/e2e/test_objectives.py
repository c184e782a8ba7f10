"""How a running platform's flows keep their objectives, by what its topics and its lake hold."""

import time
from collections.abc import Iterator, Mapping
from contextlib import closing, suppress
from dataclasses import dataclass
from typing import Final

import duckdb
import orjson
import pytest

from clients.kafka.reader import KafkaReader
from clients.lake.laptop_lake import LakeMissingError, LaptopLake
from fleetlane.events.lake.tables import EVENTS, REPEATS
from fleetlane.events.metadata import IS_THROUGH, Outcome, parsed_from, received_from
from fleetlane.events.times import now_ms
from fleetlane.events.topics import FLEET_PARSED, FLEET_RECEIVED
from local.platform import Platform, PlatformSettings
from local.spark.jobs import Application
from operations.fleet.objectives import OBJECTIVE_DAYS, objectives_of
from operations.fleet.questions import Row
from operations.lake import fleet_of
from operations.platform import Platform as OperatorsPlatform
from tests.e2e.devices import Device
from tests.e2e.faults import frozen

pytestmark = [pytest.mark.spark, pytest.mark.kafka, pytest.mark.localstack]

POSITION: Final = orjson.dumps({"at": "2026-11-03T14:05:00Z", "lat": 47.37, "lon": 8.54})
SLOW: Final = 3
QUICK: Final = 20
WITHIN_S: Final = 300


@dataclass(frozen=True, slots=True, kw_only=True)
class Asked:
    """What ``flow slo`` says of gps, and the topics and the lake of what it is asked about."""

    rows: Mapping[str, Row]
    received_ms: Mapping[str, int]
    done_ms: Mapping[str, int]
    kept_ms: Mapping[str, int]


@pytest.fixture(scope="module")
def asked(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Asked]:
    folder = tmp_path_factory.mktemp("objectives")
    with Platform(PlatformSettings(folder=folder)) as platform:
        platform.start(lambda _: None)
        operators = OperatorsPlatform.on_laptop(platform.endpoints, folder)
        device = Device.registered(platform)
        device.accepted("gps", POSITION)
        until_kept(operators, 1)
        objective = platform.flows["gps"].objective
        assert objective is not None
        assert objective.canonical_s is not None
        with frozen(platform.jobs[Application.LANES]):
            for _ in range(SLOW):
                device.accepted("gps", POSITION)
            time.sleep(objective.canonical_s + 1)
        for _ in range(QUICK):
            device.accepted("gps", POSITION)
        rows = until_kept(operators, 1 + SLOW + QUICK)
        yield Asked(
            rows=rows,
            received_ms=received_ms(platform),
            done_ms=done_ms(platform),
            kept_ms=kept_ms(LaptopLake(catalog=platform.lake.catalog_path)),
        )


def test_what_is_late_is_what_the_topics_times_say(asked: Asked) -> None:
    took_ms = [asked.done_ms[one] - asked.received_ms[one] for one in asked.received_ms]
    row = asked.rows["canonical"]

    late = sum(one > row["limit_ms"] for one in took_ms)
    assert (row["messages"], row["late"]) == (len(took_ms), late)
    assert late >= SLOW
    assert row["burn"] == pytest.approx(late / len(took_ms) / (1 - row["share"]))


def test_what_is_late_in_the_lake_is_what_its_rows_times_say(asked: Asked) -> None:
    took_ms = [asked.kept_ms[one] - asked.received_ms[one] for one in asked.received_ms]
    row = asked.rows["lake"]

    late = sum(one > row["limit_ms"] for one in took_ms)
    assert (row["messages"], row["late"]) == (len(took_ms), late)


def test_the_hop_before_the_job_that_stood_still_is_named(asked: Asked) -> None:
    assert asked.rows["canonical"]["late_by"] == "kafka"


def until_kept(operators: OperatorsPlatform, messages: int) -> Mapping[str, Row]:
    """Wait until so many are in the lake; gives the answers over a day, by objective."""
    give_up_s = time.monotonic() + WITHIN_S
    while True:
        with suppress(LakeMissingError), fleet_of(operators, asked_at_ms=now_ms()) as fleet:
            question = objectives_of(operators.publisher.current().flows)
            answer = fleet.ask(question, days=OBJECTIVE_DAYS, stream="gps")
            rows = {one["objective"]: one for one in answer.rows if one["hours"] == 24}
            counts = {name: row["messages"] for name, row in rows.items()}
            if counts == {"canonical": messages, "lake": messages}:
                return rows
        assert time.monotonic() < give_up_s, "they do not come into the lake"
        time.sleep(1)


def received_ms(platform: Platform) -> Mapping[str, int]:
    with closing(KafkaReader(platform.endpoints.kafka, topics=[FLEET_RECEIVED])) as reader:
        rows = [received_from(record.value or b"") for record in reader.read_once()]
    return {row.id: row.received_ms for row in rows}


def done_ms(platform: Platform) -> Mapping[str, int]:
    with closing(KafkaReader(platform.endpoints.kafka, topics=[FLEET_PARSED])) as reader:
        rows = [parsed_from(record.value or b"") for record in reader.read_once()]
    assert {row.outcome for row in rows if row.outcome is not Outcome.DIVERTED} <= IS_THROUGH
    found: dict[str, int] = {}
    for row in rows:
        if row.outcome in IS_THROUGH:
            found[row.id] = min(row.parsed_ms, found.get(row.id, row.parsed_ms))
    return found


def kept_ms(lake: LaptopLake) -> Mapping[str, int]:
    """Those of one position are one event: all but the first message's wait in ``repeats``."""
    kept = " union all ".join(
        f"select raw_id, lake_ms from {lake.rows(table)}"  # noqa: S608 - ours
        for table in (EVENTS, REPEATS)
    )
    with duckdb.connect() as connection:
        rows = connection.execute(f"select raw_id, max(lake_ms) from ({kept}) group by raw_id")  # noqa: S608 - ours
        return dict(rows.fetchall())
