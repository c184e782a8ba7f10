"""``fleetlane verify`` against a stage whose door and lake are known."""

import json
from collections.abc import Callable, Iterator
from contextlib import closing
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import boto3
import pytest
from pyiceberg.catalog.sql import SqlCatalog

from benchmarks.iceberg_tables import add_rows, folder_catalog
from clients.flows.store import FlowStore
from fleetlane.events.canary import VERIFIER_ID, CanaryMessage, messages_to_verify
from fleetlane.events.errors import FleetlaneError
from fleetlane.events.flows.files import flows_in
from fleetlane.events.lake.tables import DAILY, EVENTS, LEDGER, PARSED, RECEIVED
from fleetlane.events.times import HOUR_MS, day_of
from local.checkout import FLOWS
from local.demo.lake_tables import make_table
from operations.platform import Platform
from operations.verification import Verification
from tests.contract.aws_in_process import device_table
from tests.deployed_stage import STAGE, register_lake, use_region, write_stage
from tests.unit.operations.known_door import Door, open_door

BEGAN_S = 1_794_000_000.0
BEGAN_MS = int(BEGAN_S * 1_000)
MESSAGES = messages_to_verify(BEGAN_MS)
ALARM = f"fleetlane-{STAGE}-canary-is-missing"

type Change = Callable[[CanaryMessage, dict[str, Any]], None]


@dataclass
class Clock:
    """Goes on by a second at each look, and by what is waited."""

    now_s: float = BEGAN_S
    waited_s: list[float] = field(default_factory=list)

    def __call__(self) -> float:
        self.now_s += 1
        return self.now_s

    def wait(self, seconds: float) -> None:
        self.waited_s.append(seconds)
        self.now_s += seconds


@dataclass
class StageInMoto:
    """A stage that was deployed; ``fill`` writes what the jobs would make of the ten messages."""

    door: Door
    lake: SqlCatalog
    clock: Clock = field(default_factory=Clock)

    def fill(
        self,
        *,
        parsed: Change = lambda *_: None,
        event: Change = lambda *_: None,
        left_out: str | None = None,
        missing: str | None = None,
    ) -> None:
        kept = [one for one in MESSAGES if one.raw_id != left_out]
        add_rows(self.lake, PARSED, [changed(parsed_row(one), one, parsed) for one in kept])
        add_rows(self.lake, EVENTS, [changed(event_row(one), one, event) for one in kept])
        add_rows(self.lake, LEDGER, [ledger_row(missing)])
        register_lake(self.lake)

    def verify(self) -> list[str]:
        verification = Verification(
            platform=Platform.of_stage(STAGE),
            deadline_s=60,
            clock_s=self.clock,
            wait=self.clock.wait,
            began_s=BEGAN_S,
        )
        return list(verification.lines())


def changed(row: dict[str, Any], message: CanaryMessage, change: Change) -> dict[str, Any]:
    change(message, row)
    return row


def parsed_row(message: CanaryMessage) -> dict[str, Any]:
    return {
        "day": day_of(BEGAN_MS),
        "id": message.raw_id,
        "attempt": 1,
        "device_id": VERIFIER_ID,
        "stream": message.stream,
        "lane": message.lane.value,
        "source_topic": "raw",
        "source_partition": 0,
        "source_offset": 0,
        "outcome": "parsed",
        "parsed_ms": BEGAN_MS + 1_500,
        "events": 1,
        "parse_us": 1,
        "inflated_bytes": 1,
        "received_ms": BEGAN_MS,
    }


def event_row(message: CanaryMessage) -> dict[str, Any]:
    return {
        "stream": message.stream,
        "day": day_of(BEGAN_MS),
        "id": f"{message.raw_id}-0",
        "raw_id": message.raw_id,
        "device_id": VERIFIER_ID,
        "arrival_ms": BEGAN_MS,
        "time_quality": "ok",
        "parser": "json",
        "revision": 0,
        "data": json.dumps(message.content),
    }


def ledger_row(missing: str | None) -> dict[str, Any]:
    counts = ("landed", "empty", "parked", "duplicate", "waiting", "not_landed")
    names = [] if missing is None else [{"id": missing, "sha256": None, "problem": "is gone"}]
    return {
        "day": day_of(BEGAN_MS),
        "hour_ms": BEGAN_MS - BEGAN_MS % HOUR_MS,
        "stream": "canary",
        "lane": "fast",
        **dict.fromkeys(counts, 0),
        "parsed": 10 - len(names),
        "missing": len(names),
        "is_settled": False,
        "checked_ms": BEGAN_MS + 600_000,
        "missing_messages": names,
    }


@pytest.fixture
def stage(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Iterator[StageInMoto]:
    use_region(monkeypatch)
    with device_table(), open_door() as door, closing(folder_catalog(tmp_path / "lake")) as lake:
        s3 = boto3.client("s3")
        s3.create_bucket(Bucket="artifacts")
        store = FlowStore(s3, "artifacts")
        store.make_current(store.publish(flows_in(FLOWS).values()))
        write_stage(api_url=f"{door.url}/")
        for table in (PARSED, EVENTS, LEDGER, RECEIVED, DAILY):
            make_table(lake, table)
        yield StageInMoto(door=door, lake=lake)


@pytest.fixture
def listener(stage: StageInMoto) -> None:
    """Somebody who is notified, of an alarm that is not raised."""
    topic = notified_topic()
    boto3.client("sns").subscribe(TopicArn=topic, Protocol="sms", Endpoint="+491701234567")


def notified_topic() -> str:
    topic: str = boto3.client("sns").create_topic(Name="alarms")["TopicArn"]
    boto3.client("cloudwatch").put_metric_alarm(
        AlarmName=ALARM,
        AlarmActions=[topic],
        MetricName="m",
        Namespace="n",
        Period=60,
        EvaluationPeriods=1,
        Threshold=1,
        Statistic="Sum",
        ComparisonOperator="GreaterThanThreshold",
    )
    set_alarm("OK")
    return topic


def set_alarm(state: Any) -> None:
    boto3.client("cloudwatch").set_alarm_state(
        AlarmName=ALARM, StateValue=state, StateReason="a test"
    )


@pytest.mark.usefixtures("listener")
def test_a_stage_is_verified_step_by_step_each_with_what_came_and_its_time(
    stage: StageInMoto,
) -> None:
    stage.fill()

    lines = stage.verify()

    expected = [line.split()[1] for line in lines if line.startswith("expected")]
    assert expected == [
        *("flows:", "door:", "canonical:", "lake:", "ledger:", "report:", "alarms:")
    ]
    assert "(2 fast, 2 standard, 4 bulk, 2 slow)" in lines[2]
    assert lines[3].strip().endswith(f"10 accepted by {stage.door.url}")
    assert "fast 1.5 s" in lines[5]
    assert lines[13].endswith("1 alarms, 1 notified, 0 yet to confirm")
    assert lines[-1].startswith("verified in ")


@pytest.mark.usefixtures("listener")
def test_it_sends_as_a_device_of_its_own_that_is_gone_afterwards(stage: StageInMoto) -> None:
    stage.fill()

    stage.verify()

    assert stage.door.devices == {VERIFIER_ID}
    assert stage.door.audiences == {f"fleetlane-{STAGE}"}
    assert Platform.of_stage(STAGE).devices.registry.find(VERIFIER_ID) is None


def parked_as_malformed(message: CanaryMessage, row: dict[str, Any]) -> None:
    if message is MESSAGES[3]:
        row.update(outcome="parked", reason="malformed")


def in_the_standard_lane(message: CanaryMessage, row: dict[str, Any]) -> None:
    if message is MESSAGES[0]:
        row["lane"] = "standard"


def with_other_data(message: CanaryMessage, row: dict[str, Any]) -> None:
    if message is MESSAGES[1]:
        row["data"] = "{}"


@pytest.mark.parametrize(
    ("filled", "cause"),
    [
        ({"parsed": parked_as_malformed}, f"{MESSAGES[3].raw_id} (slow, lane slow) .*malformed"),
        ({"parsed": in_the_standard_lane}, f"{MESSAGES[0].raw_id} .* came to lane standard"),
        ({"event": with_other_data}, f"of {MESSAGES[1].raw_id} .* the lake has "),
        ({"left_out": MESSAGES[9].raw_id}, f"in time: {MESSAGES[9].raw_id} (uploaded, lane bulk)$"),
        ({"missing": MESSAGES[5].raw_id}, f"{MESSAGES[5].raw_id} is missing: is gone"),
    ],
    ids=["parked", "other lane", "other data", "not there", "missing"],
)
def test_what_became_of_a_message_otherwise_is_the_cause(
    stage: StageInMoto, filled: dict[str, Any], cause: str
) -> None:
    stage.fill(**filled)

    with pytest.raises(FleetlaneError) as refusal:
        stage.verify()

    assert refusal.match(cause.replace("(", r"\(").replace(")", r"\)"))


def test_a_lake_without_tables_is_waited_for_and_no_longer_than_allowed(stage: StageInMoto) -> None:
    with pytest.raises(FleetlaneError, match="not in the lake's parsed in time"):
        stage.verify()

    assert 60 <= stage.clock.now_s - BEGAN_S < 80


def test_what_the_door_refuses_is_the_cause_with_its_route(stage: StageInMoto) -> None:
    stage.door.refused = {"/v1/fast/canary": 403}

    with pytest.raises(FleetlaneError, match=r"\(fast, fast\); the first: 403 forbidden"):
        stage.verify()

    assert Platform.of_stage(STAGE).devices.registry.find(VERIFIER_ID) is None


def test_without_the_canarys_flows_nothing_is_sent(stage: StageInMoto) -> None:
    s3 = boto3.client("s3")
    s3.delete_object(Bucket="artifacts", Key="flows/current.json")

    with pytest.raises(FleetlaneError, match="no flow in force for canary, canary-slow"):
        stage.verify()

    assert not stage.door.devices


def test_alarms_that_nobody_confirmed_are_not_heard(stage: StageInMoto) -> None:
    stage.fill()
    notified_topic()

    with pytest.raises(FleetlaneError, match="alarms notify nobody: set alarm_email"):
        stage.verify()


@pytest.mark.usefixtures("listener")
def test_an_alarm_that_stays_raised_is_the_cause(stage: StageInMoto) -> None:
    stage.fill()
    set_alarm("ALARM")

    with pytest.raises(FleetlaneError, match=f"alarms are raised: {ALARM}"):
        stage.verify()
