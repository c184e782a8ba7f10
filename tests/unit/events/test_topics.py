import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fleetlane.events.lanes import BulkCause, Lane
from fleetlane.events.names import BadNameError
from fleetlane.events.topic_patterns import (
    lane_of,
    lane_pattern,
    over_pattern,
    raw_pattern,
    stream_pattern,
)
from fleetlane.events.topics import (
    FLEET_PARSED,
    FLEET_RECEIVED,
    PARKED,
    RawStrategy,
    RawTopic,
    canonical_topic,
    partitions_of,
    platform_topics,
    raw_topic,
    topic_settings,
    unique_topic,
)
from tests.unit.events.messages import names

LONGEST = "a" * 48
DAY_MS = 86_400_000

RAW_TOPICS = [
    "raw.fast",
    "raw.standard",
    "raw.slow",
    "raw.fast.stream.thermo",
    "raw.standard.type.acme-t1",
    "raw.slow.stream.type",
    f"raw.slow.type.{LONGEST}",
]
BULK_TOPICS = [
    *(f"raw.bulk.{cause}" for cause in BulkCause),
    *(f"raw.bulk.over.{cause}" for cause in BulkCause),
    "raw.slow.over",
]

SHARED_LANES = [lane for lane in Lane if lane is not Lane.BULK]

OTHER_TOPICS = [
    "",
    "raw",
    "raw.",
    "raw.quick",
    "raw.FAST",
    "raw.fast.",
    "raw.fast.stream",
    "raw.fast.stream.",
    "raw.fast.type.",
    "raw.fast.lane.x",
    "raw.fast.stream.Thermo",
    "raw.fast.stream.1a",
    "raw.fast.stream.a.b",
    "raw.fast.stream.a_b",
    f"raw.fast.stream.{LONGEST}a",
    "raw.fast.stream.a\n",
    "raw.fast\n",
    "\nraw.fast",
    "xraw.fast",
    "raw-fast",
    "rawxfast",
    "raw.fastxstream.a",
    "raw.slower",
    "raw.bulk",
    "raw.bulk.huge",
    "raw.bulk.over",
    "raw.bulk.over.huge",
    "raw.bulk.stream.thermo",
    "raw.fast.over",
    "raw.slow.large",
    "raw.slow.over.large",
    "parked",
    "canonical.raw.fast",
]


@pytest.mark.parametrize(
    ("strategy", "device_type", "topic"),
    [
        (RawStrategy.LANE, "acme-t1", "raw.fast"),
        (RawStrategy.STREAM, "acme-t1", "raw.fast.stream.thermo"),
        (RawStrategy.DEVICE_TYPE, "acme-t1", "raw.fast.type.acme-t1"),
        (RawStrategy.DEVICE_TYPE, None, "raw.fast"),
    ],
)
def test_a_strategy_names_the_raw_topic(
    strategy: RawStrategy, device_type: str | None, topic: str
) -> None:
    named = raw_topic(Lane.FAST, strategy, stream="thermo", device_type=device_type)

    assert named == topic


@pytest.mark.parametrize(
    ("strategy", "stream", "device_type"),
    [
        (RawStrategy.STREAM, "Thermo", "acme-t1"),
        (RawStrategy.STREAM, "thermo\n", "acme-t1"),
        (RawStrategy.DEVICE_TYPE, "thermo", "acme t1"),
    ],
)
def test_what_is_no_name_never_becomes_part_of_a_topic(
    strategy: RawStrategy, stream: str, device_type: str
) -> None:
    with pytest.raises(BadNameError, match="does not match"):
        raw_topic(Lane.FAST, strategy, stream=stream, device_type=device_type)


def test_canonical_and_unique_topics_carry_the_stream() -> None:
    assert (canonical_topic("thermo"), unique_topic("thermo")) == (
        "canonical.thermo",
        "unique.thermo",
    )


@pytest.mark.parametrize("stream", ["", "a.b", "A", f"{LONGEST}a"])
def test_a_canonical_topic_refuses_what_is_no_name(stream: str) -> None:
    with pytest.raises(BadNameError, match="stream"):
        canonical_topic(stream)


def test_the_platforms_own_topics_are_the_designs() -> None:
    assert platform_topics() == (
        "raw.fast",
        "raw.standard",
        "raw.slow",
        *(f"raw.bulk.{cause}" for cause in ("large", "late", "quarantined", "replayed")),
        *(f"raw.bulk.over.{cause}" for cause in ("large", "late", "quarantined", "replayed")),
        "raw.slow.over",
        "parked",
        "fleet.received",
        "fleet.parsed",
        "fleet.alerts",
        "fleet.heartbeats",
    )


@pytest.mark.parametrize("topic", OTHER_TOPICS)
def test_the_pattern_of_all_raw_topics_matches_nothing_else(topic: str) -> None:
    assert not re.fullmatch(raw_pattern(*Lane), topic)


@pytest.mark.parametrize("topic", BULK_TOPICS)
def test_a_bulk_topic_is_read_by_one_query_alone(topic: str) -> None:
    causes = (re.escape(str(RawTopic(lane=Lane.BULK, cause=cause))) for cause in BulkCause)
    patterns = [*causes, over_pattern(Lane.BULK), over_pattern(Lane.SLOW)]

    reading = [pattern for pattern in patterns if re.fullmatch(pattern, topic)]

    assert len(reading) == 1
    assert not any(re.fullmatch(lane_pattern(lane), topic) for lane in Lane)
    assert re.fullmatch(stream_pattern("thermo"), topic)
    assert lane_of(topic) == topic.split(".")[1]


@pytest.mark.parametrize("lane", SHARED_LANES)
def test_a_lanes_pattern_matches_its_own_topics_alone(lane: Lane) -> None:
    matched = [topic for topic in RAW_TOPICS if re.fullmatch(lane_pattern(lane), topic)]

    assert matched == [topic for topic in RAW_TOPICS if topic.split(".")[1] == lane]


def test_a_pattern_uses_only_what_javas_expressions_read_alike() -> None:
    pattern = lane_pattern(Lane.FAST)

    assert pattern == r"raw\.fast(\.(stream|type)\.[a-z][a-z0-9-]{0,47})?"


@given(lane=st.sampled_from(SHARED_LANES), stream=names, device_type=st.none() | names)
def test_a_raw_topics_name_tells_its_lane(lane: Lane, stream: str, device_type: str | None) -> None:
    found = [
        lane_of(raw_topic(lane, strategy, stream=stream, device_type=device_type))
        for strategy in RawStrategy
    ]

    assert found == [lane] * len(RawStrategy)


def test_a_blocking_flow_s_topic_is_left_out_by_its_lane_and_read_by_itself() -> None:
    topic = str(RawTopic(lane=Lane.FAST, blocking_stream="door-2"))

    assert topic == "raw.fast.block.door-2"
    assert not re.fullmatch(lane_pattern(Lane.FAST), topic)
    assert re.fullmatch(raw_pattern(Lane.FAST), topic)


@pytest.mark.parametrize("topic", RAW_TOPICS)
def test_the_pattern_of_all_raw_topics_matches_the_shared_ones_too(topic: str) -> None:
    assert re.fullmatch(raw_pattern(*Lane), topic)


@given(st.from_regex(raw_pattern(*Lane), fullmatch=True))
def test_whatever_the_pattern_matches_is_of_one_lane(topic: str) -> None:
    assert lane_of(topic) == topic.split(".")[1]


@pytest.mark.parametrize("topic", OTHER_TOPICS)
def test_what_is_no_raw_topic_is_of_no_lane(topic: str) -> None:
    assert lane_of(topic) is None


@pytest.mark.parametrize(
    ("topic", "days"),
    [
        ("raw.fast", 3),
        ("raw.standard.stream.thermo", 3),
        ("raw.slow", 3),
        ("raw.slow.type.acme-t1", 3),
        ("canonical.thermo", 7),
        (FLEET_RECEIVED, 7),
        (FLEET_PARSED, 7),
    ],
)
def test_a_topic_keeps_its_records_for_days(topic: str, days: int) -> None:
    assert topic_settings(topic).kafka_configuration()["retention.ms"] == str(days * DAY_MS)


def test_parked_records_never_expire() -> None:
    assert topic_settings(PARKED).kafka_configuration()["retention.ms"] == "-1"


@pytest.mark.parametrize("topic", [PARKED, "raw.slow", "raw.slow.stream.thermo"])
def test_where_records_are_diverted_any_raw_record_fits_again(topic: str) -> None:
    landed = topic_settings("raw.fast").record_bytes_max
    added_by_parking = 1024 + 5 * 100  # the detail, and five short headers

    assert topic_settings(topic).record_bytes_max >= landed + added_by_parking


def test_kafka_leaves_room_for_a_batchs_frame() -> None:
    settings = topic_settings("canonical.thermo")

    told = int(settings.kafka_configuration()["max.message.bytes"])

    assert told >= settings.record_bytes_max + 61  # bytes of a record batch's own header


@pytest.mark.parametrize(
    ("topic", "partitions", "made"),
    [
        ("raw.fast", 24, 4),
        ("raw.fast.stream.door", 24, 4),
        ("raw.fast", 3, 3),
        ("raw.standard", 24, 24),
        ("canonical.door", 24, 24),
    ],
)
def test_topics_of_the_fast_lane_have_few_partitions(
    topic: str, partitions: int, made: int
) -> None:
    assert partitions_of(topic, partitions) == made
