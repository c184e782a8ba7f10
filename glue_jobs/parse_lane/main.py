"""Job ``parse_lane``: one lane's raw topics to canonical events, or to where else they go."""

import re
from collections.abc import Callable, Iterator
from contextlib import closing
from dataclasses import replace
from functools import partial
from typing import Final

from pyspark.sql import SparkSession
from pyspark.sql.streaming.query import StreamingQuery

from clients.aws import AwsSettings, s3_client
from clients.flows.store import CachedFlows, FlowStore
from clients.s3.blocked_messages import BlockedMessages
from fleetlane.events import topic_patterns
from fleetlane.events.job_arguments import ParseLaneArguments
from fleetlane.events.lanes import BulkCause, Lane
from fleetlane.events.metrics import Dimension, LaneMetric
from fleetlane.events.times import now_ms
from fleetlane.events.topics import RawTopic
from fleetlane.parsers.sandbox.platforms import sandboxes_for_this_system
from glue_jobs.engine.cloudwatch_metrics import METRICS_INTERVAL_S, Publish, published_to
from glue_jobs.engine.query_listener import listen
from glue_jobs.engine.supervisor import POLL_INTERVAL_S, PeriodicTask, Supervisor, always_running
from glue_jobs.kafka import source_and_sink
from glue_jobs.kafka.admin import KafkaAdmin
from glue_jobs.parse_lane.halting import BlockingQueries
from glue_jobs.parse_lane.lane_metrics import LaneListener, observing_arrivals, observing_outputs
from glue_jobs.parse_lane.parse import checked_jail, parsing
from glue_jobs.parse_lane.real_time.lane import RealTimeLane
from glue_jobs.parse_lane.results.output_batches import OUTPUT_SCHEMA

BLOCKING_MESSAGES_PER_BATCH_MAX: Final = 200
"""A query that stops at a message has its batch again afterwards, from the first one on."""

BLOCKING_BATCH_MS_MAX: Final = 1_200_000
"""If each message took its whole limit, one after the other: there is no budget of time."""

_FETCH_RECORDS_MAX: Final = 500
"""With 64 partitions, what is left of fetches of 2,000 had Java collect for a tenth of the CPU."""

type _Start = Callable[[ParseLaneArguments], StreamingQuery]


def start(session: SparkSession, arguments: ParseLaneArguments) -> Supervisor:
    """Start the lane's queries, and give what supervises them: one that ends is started again.

    Those of its blocking flows are started beside them; returns at once.
    """
    with closing(sandboxes_for_this_system()) as sandboxes:  # a driver has its workers' image
        problems = checked_jail(sandboxes.jail_problems(), arguments.sandbox)
    publish = published_to(arguments.metrics_namespace, Dimension.LANE, arguments.lane)
    listening = set[str]()

    def start_query(own: ParseLaneArguments) -> StreamingQuery:
        name, _ = _source(own)
        if name not in listening:  # a listener stays when its query is started again
            listen(session, LaneListener(name, publish=publish, now_ms=now_ms))
            listening.add(name)
        return _started(session, own)

    supervisor = _supervised(session, arguments, start_query, publish)
    blocking = _blocking_queries(session, arguments, start_query, publish)
    PeriodicTask(
        name="queries of blocking flows",
        run=lambda: blocking.check(may_start=supervisor.starts),
        interval_s=POLL_INTERVAL_S,
        at_end=blocking.stop,
    ).run_beside(supervisor)
    PeriodicTask(
        name="the state of the parsers' jail",
        run=lambda: publish({LaneMetric.JAIL_PROBLEMS: problems}),
        interval_s=METRICS_INTERVAL_S,
    ).run_beside(supervisor)
    return supervisor


def _supervised(
    session: SparkSession, arguments: ParseLaneArguments, start_query: _Start, publish: Publish
) -> Supervisor:
    if arguments.is_real_time:
        source = _source(arguments)
        return RealTimeLane(
            session, arguments, source=source, start_batches=start_query, publish=publish
        ).supervised()
    starts = {_source(one)[0]: partial(start_query, one) for one in _parts(arguments)}
    return always_running(starts, restart_s=POLL_INTERVAL_S)


def _blocking_queries(
    session: SparkSession, arguments: ParseLaneArguments, start_query: _Start, publish: Publish
) -> BlockingQueries:
    s3, flows_max_age_s = s3_client(AwsSettings()), arguments.flows_max_age_s
    return BlockingQueries(
        arguments.lane,
        start=lambda stream: start_query(_of_blocking_flow(arguments, stream)),
        topics=KafkaAdmin(session, arguments).topics,
        blocked=BlockedMessages(s3, arguments.parked_bucket),
        flows=CachedFlows(FlowStore(s3, arguments.flows_bucket), max_age_s=flows_max_age_s),
        publish=publish,
    )


def _parts(arguments: ParseLaneArguments) -> Iterator[ParseLaneArguments]:
    """The queries of a lane: its own, in the bulk lane one a cause, and of what is over budget."""
    if arguments.lane is Lane.BULK:
        yield from (replace(arguments, bulk_cause=cause) for cause in BulkCause)
    else:
        yield arguments
    if arguments.lane in (Lane.BULK, Lane.SLOW):
        yield replace(arguments, is_over=True)


def _of_blocking_flow(arguments: ParseLaneArguments, stream: str) -> ParseLaneArguments:
    limits = arguments.limits
    in_time = max(1, BLOCKING_BATCH_MS_MAX // limits.parse_ms_max)
    return replace(
        arguments,
        blocking_stream=stream,
        trigger_ms=max(source_and_sink.TRIGGER_MS_MIN, limits.trigger_ms),
        messages_per_batch_max=min(BLOCKING_MESSAGES_PER_BATCH_MAX, in_time),
    )


def _started(session: SparkSession, arguments: ParseLaneArguments) -> StreamingQuery:
    (name, pattern), limits = _source(arguments), arguments.limits
    raw = source_and_sink.raw_records(
        session,
        arguments,
        pattern=pattern,
        messages_per_batch_max=limits.messages_per_batch_max,
        fetch_records_max=_FETCH_RECORDS_MAX,
    )
    parsed = observing_arrivals(raw).mapInArrow(parsing(arguments), OUTPUT_SCHEMA)
    records = source_and_sink.with_content_type(observing_outputs(parsed))
    writes = topic_patterns.output_pattern(arguments.blocking_stream)
    plan = source_and_sink.QueryPlan(
        name=name, pattern=pattern, trigger_ms=limits.trigger_ms, writes=writes
    )
    return source_and_sink.written_to_kafka(records, arguments, plan=plan)


def _source(arguments: ParseLaneArguments) -> tuple[str, str]:
    """A query's name, and the pattern of the topics that it reads. No stream's name has a dot."""
    lane, cause, stream = arguments.lane, arguments.bulk_cause, arguments.blocking_stream
    if stream is not None:
        own = RawTopic(lane=lane, blocking_stream=stream)
        return f"parse_lane_{lane}_{stream}", re.escape(str(own))
    if arguments.is_over:
        return f"parse_lane_{lane}.over", topic_patterns.over_pattern(lane)
    if cause is not None:
        own = RawTopic(lane=lane, cause=cause)
        return f"parse_lane_{lane}.{cause}", re.escape(str(own))
    return f"parse_lane_{lane}", topic_patterns.lane_pattern(lane)
