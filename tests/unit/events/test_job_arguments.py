from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fleetlane.events.job_arguments import (
    Arguments,
    BadArgumentsError,
    DeduplicateArguments,
    FleetMetadataArguments,
    FleetWatchArguments,
    HostArguments,
    ParseLaneArguments,
)
from fleetlane.events.lanes import LANE_LIMITS, GrowthLimits, Lane

ARGV = [
    *("--kafka_bootstrap_servers", "127.0.0.1:9092"),
    *("--checkpoint_folder", "s3://checkpoints"),
    *("--lane", "fast"),
    *("--flows_bucket", "flows"),
    *("--payload_bucket", "payloads"),
    *("--parked_bucket", "parked"),
]
FAST = ParseLaneArguments(
    kafka_bootstrap_servers="127.0.0.1:9092",
    checkpoint_folder="s3://checkpoints",
    lane=Lane.FAST,
    flows_bucket="flows",
    payload_bucket="payloads",
    parked_bucket="parked",
)
REQUIRED = ARGV[::2]

values = st.text(st.characters(exclude_categories=["Cs"])).filter(
    lambda value: not value.startswith("--")
)
counts = st.integers(0, 2**40)
any_arguments: st.SearchStrategy[Arguments] = st.one_of(
    st.builds(HostArguments, application=values, jobs=values),
    st.builds(
        FleetMetadataArguments,
        kafka_bootstrap_servers=values,
        checkpoint_folder=values,
        metadata_trigger_ms=counts,
        metadata_messages_per_batch_max=counts,
    ),
    st.builds(
        FleetWatchArguments,
        kafka_bootstrap_servers=values,
        checkpoint_folder=values,
        flows_bucket=values,
        overrides_bucket=values,
        registry_table=values,
        watch_window_s=counts,
    ),
    st.builds(
        DeduplicateArguments,
        kafka_bootstrap_servers=values,
        checkpoint_folder=values,
        flows_bucket=values,
        dedupe_trigger_ms=counts,
        dedupe_events_per_batch_max=counts,
        dedupe_state_partitions=counts,
    ),
    st.builds(
        ParseLaneArguments,
        kafka_bootstrap_servers=values,
        checkpoint_folder=values,
        lane=st.sampled_from(Lane),
        flows_bucket=values,
        payload_bucket=values,
        parked_bucket=values,
        blocking_stream=st.none() | values,
        trigger_ms=st.none() | counts,
        parse_ms_max=st.none() | counts,
        messages_per_batch_max=st.none() | counts,
    ),
)


def without(name: str) -> list[str]:
    place = ARGV.index(name)
    return ARGV[:place] + ARGV[place + 2 :]


def test_arguments_are_read_from_pairs() -> None:
    assert ParseLaneArguments.from_argv(ARGV) == FAST


@given(any_arguments)
def test_written_arguments_read_back_equal(arguments: Arguments) -> None:
    assert type(arguments).from_argv(arguments.to_argv()) == arguments


@given(any_arguments)
def test_written_arguments_are_pairs_of_name_and_value(arguments: Arguments) -> None:
    argv = arguments.to_argv()

    assert len(argv) % 2 == 0
    assert all(name.startswith("--") for name in argv[::2])


def test_the_programs_name_and_glues_own_arguments_are_ignored() -> None:
    argv = [
        "main.py",
        *("--JOB_NAME", "parse-fast"),
        "--enable-metrics",
        *ARGV,
        "--enable-continuous-cloudwatch-log",
        *("--TempDir", "s3://temporary"),
    ]

    assert ParseLaneArguments.from_argv(argv) == FAST


@pytest.mark.parametrize("name", REQUIRED)
def test_a_missing_argument_is_named(name: str) -> None:
    with pytest.raises(BadArgumentsError) as refused:
        ParseLaneArguments.from_argv(without(name))

    assert str(refused.value) == (f"ParseLaneArguments: Object missing required field `{name[2:]}`")


def test_an_argument_without_its_value_is_missing() -> None:
    with pytest.raises(BadArgumentsError, match="lane"):
        ParseLaneArguments.from_argv([*without("--lane"), "--lane"])


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("--lane", "quick"),
        ("--lane", ""),
        ("--trigger_ms", "soon"),
        ("--trigger_ms", ""),
        ("--parse_ms_max", "1.5"),
        ("--messages_per_batch_max", "1e3x"),
    ],
)
def test_a_value_that_is_not_allowed_is_refused_by_name(name: str, value: str) -> None:
    with pytest.raises(BadArgumentsError, match=name[2:]):
        ParseLaneArguments.from_argv([*ARGV, name, value])


def test_without_limits_of_its_own_a_job_has_its_lanes() -> None:
    assert FAST.limits == LANE_LIMITS[Lane.FAST]


def test_a_blocking_flow_s_messages_may_grow_to_the_last_limits_as_they_go_nowhere_else() -> None:
    limits = replace(FAST, blocking_stream="door").limits

    assert limits == replace(LANE_LIMITS[Lane.FAST], growth=GrowthLimits())
    assert limits.growth.are_last


def test_a_given_limit_replaces_the_lanes_even_where_it_is_zero() -> None:
    argv = [*without("--lane"), "--lane", "slow", "--trigger_ms", "0", "--parse_ms_max", "2000"]

    limits = ParseLaneArguments.from_argv(argv).limits

    slow = LANE_LIMITS[Lane.SLOW]
    assert (limits.trigger_ms, limits.parse_ms_max) == (0, 2000)
    assert limits.messages_per_batch_max == slow.messages_per_batch_max
