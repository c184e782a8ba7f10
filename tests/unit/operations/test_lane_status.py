"""How the lanes are, from what is in Kafka alone."""

import json
from collections.abc import Mapping
from contextlib import closing

import pytest

from clients.kafka.reader import KafkaUnreadableError, Partition
from fleetlane.cli.commands.platform.status import show_top, status_text
from fleetlane.events.flows.files import PublishedFlows, flow_from_toml
from fleetlane.events.job_arguments import KafkaSecurity
from fleetlane.events.lanes import Lane
from fleetlane.events.metadata import Outcome
from fleetlane.events.times import now_ms
from fleetlane.events.topics import seen_note
from operations.lanes.status import (
    KafkaPositions,
    LaneStatus,
    Position,
    QueryStatus,
    Status,
    status_of,
)
from tests.brokers import broker_in_process
from tests.unit.operations.memory_positions import MemoryPositions
from tests.unit.operations.parsed_record import parsed_record

NOW_MS = 1_762_178_709_000


def told(kafka: MemoryPositions, *outcomes: Outcome, ago_s: int) -> None:
    for outcome in outcomes:
        at_ms = NOW_MS - 1_000 * ago_s
        row = parsed_record(lane=Lane.FAST, outcome=outcome, parsed_ms=at_ms)
        kafka.write(row.topic, str(at_ms).encode(), row.value or b"")


def landed(kafka: MemoryPositions, topic: str, *agos_s: int) -> None:
    for ago_s in agos_s:
        kafka.write(topic, str(NOW_MS - 1_000 * ago_s).encode(), b"")


def lane_of(status: Status, lane: Lane) -> LaneStatus:
    (found,) = (one for one in status.lanes if one.lane is lane)
    return found


def test_a_lane_s_rate_and_parked_share_are_those_of_the_last_minute() -> None:
    kafka = MemoryPositions()
    told(kafka, Outcome.PARKED, ago_s=300)
    told(kafka, *[Outcome.PARSED] * 58, Outcome.EMPTY, Outcome.EMPTY, ago_s=30)
    told(kafka, *[Outcome.PARKED] * 20, Outcome.DIVERTED, ago_s=30)

    lane = lane_of(status_of(kafka, now_ms=NOW_MS), Lane.FAST)

    assert (lane.parsed_per_s, lane.parked_percent) == (1.0, 25.0)


def test_a_stream_s_rates_are_those_of_the_last_minute_too() -> None:
    kafka = MemoryPositions()
    told(kafka, *[Outcome.PARSED] * 59, Outcome.EMPTY, *[Outcome.PARKED] * 20, ago_s=30)

    status = status_of(kafka, now_ms=NOW_MS)

    assert (status.rates_of("thermo"), status.rates_of("gps")) == ((1.0, 25.0), (0.0, None))


def test_what_no_parser_has_read_waits_in_topics_of_its_own_and_blocking_ones_too() -> None:
    kafka = MemoryPositions()
    landed(kafka, "raw.fast", 90, 60, 30)
    landed(kafka, "raw.fast.stream.gps", 40)
    landed(kafka, "raw.fast.block.door", 80, 20)
    kafka.group_positions = {
        "fleetlane-parse-fast": {("raw.fast", 0): Position(2, "")},
        "fleetlane-parse-fast-door": {("raw.fast.block.door", 0): Position(2, "")},
        "fleetlane-fleet-metadata": {("raw.fast.stream.gps", 0): Position(1, "")},
    }

    lane = lane_of(status_of(kafka, now_ms=NOW_MS), Lane.FAST)

    assert (lane.waiting, lane.oldest_arrival_ms) == (2, NOW_MS - 40_000)


def test_an_idle_platform_has_no_share_and_nothing_that_waits() -> None:
    lanes = status_of(MemoryPositions(), now_ms=NOW_MS).lanes

    assert [(one.parked_percent, one.waiting, one.oldest_arrival_ms) for one in lanes] == [
        (None, 0, None)
    ] * len(Lane)


def test_a_query_says_how_far_it_is_and_when_it_was_last_seen() -> None:
    kafka = MemoryPositions()
    landed(kafka, "raw.slow", 9, 8, 7)
    note = seen_note(NOW_MS - 4_000)
    kafka.group_positions = {
        "fleetlane-parse-slow": {
            ("raw.slow", 0): Position(1, note),
            ("raw.slow.stream.gone", 0): Position(7, seen_note(0)),
        }
    }

    (query,) = status_of(kafka, now_ms=NOW_MS).queries

    assert query == QueryStatus(query="parse-slow", waiting=2, seen_ms=NOW_MS - 4_000)


def test_a_query_that_makes_no_progress_is_shown_as_stalled_though_it_was_just_seen() -> None:
    kafka = MemoryPositions()
    note = seen_note(NOW_MS - 1_000, stalled_ms=45_000)
    kafka.group_positions = {
        "fleetlane-parse-fast": {("raw.fast", 0): Position(0, note + "\x00garbage")}
    }

    status = status_of(kafka, now_ms=NOW_MS)

    assert (status.queries[0].seen_ms, status.queries[0].stalled_ms) == (NOW_MS - 1_000, 45_000)
    assert "stalled for 45 s" in status_text(status)


def test_a_person_reads_a_line_a_lane_and_a_line_a_query() -> None:
    kafka = MemoryPositions()
    landed(kafka, "raw.slow", 90)
    told(kafka, Outcome.PARSED, ago_s=1)
    kafka.group_positions = {
        "fleetlane-parse-slow": {("raw.slow", 0): Position(0, seen_note(NOW_MS))}
    }

    text = status_text(status_of(kafka, now_ms=NOW_MS))

    assert [line.split() for line in text.splitlines()] == [
        ["lane", "parsed/s", "parked", "waiting", "oldest", "waiting"],
        ["fast", "0.0", "0.0", "%", "0", "-"],
        ["standard", "0.0", "-", "0", "-"],
        ["bulk", "0.0", "-", "0", "-"],
        ["slow", "0.0", "-", "1", "2025-11-03T14:03:39.000Z"],
        [],
        ["query", "records", "behind", "last", "seen"],
        ["parse-slow", "1", "2025-11-03T14:05:09.000Z"],
    ]


class Watched(MemoryPositions):
    """Does not answer the second question, and has Ctrl-C pressed at the fourth."""

    asked = 0

    def groups(self, prefix: str) -> Mapping[str, Mapping[Partition, Position]]:
        self.asked += 1
        if self.asked == 2:
            raise KafkaUnreadableError("timed out")
        if self.asked == 4:
            raise KeyboardInterrupt
        return super().groups(prefix)


def published(*streams: str) -> PublishedFlows:
    flow = 'stream = "{}"\nowner = "acme"\n[[parsers]]\nuse = "json"\n'
    return PublishedFlows.of(flow_from_toml(flow.format(one), file=one) for one in streams)


def test_top_outlives_an_outage_and_ends_with_ctrl_c(capsys: pytest.CaptureFixture[str]) -> None:
    show_top(Watched(), published, as_json=True, every_s=0)

    shown = capsys.readouterr()
    assert [json.loads(line)["queries"] for line in shown.out.splitlines()] == [[], []]
    assert shown.err == "error: Kafka cannot be read: timed out\n"


def test_top_has_the_busiest_flows_first_and_those_that_are_idle_too(
    capsys: pytest.CaptureFixture[str],
) -> None:
    kafka, at_ms = Watched(), now_ms() - 1_000
    for outcome in (*[Outcome.PARSED] * 60, *[Outcome.PARKED] * 30):
        row = parsed_record(lane=Lane.FAST, outcome=outcome, parsed_ms=at_ms)
        kafka.write(row.topic, str(at_ms).encode(), row.value or b"")

    show_top(kafka, lambda: published("door", "gps", "thermo"), as_json=False, every_s=0)

    lines = [line.split() for line in capsys.readouterr().out.splitlines()]
    assert lines.count(["stream", "lane", "owner", "parsed/s", "parked/s"]) == 2
    assert lines[-3:] == [
        ["thermo", "standard", "acme", "1.0", "0.5"],
        ["door", "standard", "acme", "0.0", "0.0"],
        ["gps", "standard", "acme", "0.0", "0.0"],
    ]


def test_top_is_drawn_in_place_with_as_much_as_fits_and_an_outage_above(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    for name, value in {"FORCE_COLOR": "1", "COLUMNS": "60", "LINES": "10"}.items():
        monkeypatch.setenv(name, value)
    flows = published(*(f"flow-{at}" for at in range(40)))

    show_top(Watched(), lambda: flows, as_json=False, every_s=0)

    *_, first, outage, last = capsys.readouterr().out.split("\x1b[H")
    assert len(first.splitlines()) == 10
    assert ("flow-0" in first, "flow-1 " in first) == (True, False)
    assert outage.splitlines()[0].strip() == "error: Kafka cannot be read: timed out"
    assert "parsed/s" in outage
    assert "\x1b[?1049l" in last


def test_what_was_attempted_does_not_wait_though_its_query_has_not_reported_yet() -> None:
    kafka = MemoryPositions()
    landed(kafka, "raw.fast", 9, 8, 7)
    for offset in (1, 2):
        row = parsed_record(
            lane=Lane.FAST, source_topic="raw.fast", source_partition=0, source_offset=offset
        )
        kafka.write(row.topic, str(NOW_MS).encode(), row.value or b"")
    kafka.group_positions = {"fleetlane-parse-fast": {("raw.fast", 0): Position(1, "")}}

    status = status_of(kafka, now_ms=NOW_MS)

    lane = lane_of(status, Lane.FAST)
    assert (lane.waiting, lane.oldest_arrival_ms) == (0, None)
    assert status.queries[0].waiting == 0


def test_what_an_earlier_record_of_its_batch_waits_for_is_still_counted() -> None:
    kafka = MemoryPositions()
    landed(kafka, "raw.fast", 9, 8, 7)
    row = parsed_record(
        lane=Lane.FAST, source_topic="raw.fast", source_partition=0, source_offset=1
    )
    kafka.write(row.topic, str(NOW_MS).encode(), row.value or b"")

    lane = lane_of(status_of(kafka, now_ms=NOW_MS), Lane.FAST)

    assert (lane.waiting, lane.oldest_arrival_ms) == (2, NOW_MS - 9_000)


def test_a_broker_that_names_no_groups_is_no_broker_without_groups() -> None:
    with (
        broker_in_process() as (_, address),
        closing(KafkaPositions(address, KafkaSecurity.PLAINTEXT)) as positions,
        pytest.raises(KafkaUnreadableError),
    ):
        positions.groups("fleetlane-")
