"""Job ``deduplicate``: canonical events to ``unique.<stream>``, for each flow that wants it."""

import os
import sys
import time
from collections.abc import Callable, Mapping
from functools import cache, partial
from typing import Final

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F
from pyspark.sql.streaming.query import StreamingQuery

from clients.aws import AwsSettings, s3_client
from clients.flows import store
from fleetlane.events.job_arguments import DeduplicateArguments
from fleetlane.events.topic_patterns import canonical_pattern
from fleetlane.events.topics import unique_topic
from glue_jobs.deduplicate.bundles import BUNDLES_TYPE, NEEDED, RECORDS_TYPE, bundled, unbundled
from glue_jobs.deduplicate.seen_events import LeaveOutRepeats
from glue_jobs.engine.checkpoint_notes import DedupedStreams, HadoopFiles
from glue_jobs.engine.ended_queries import ended_queries
from glue_jobs.engine.session import session_with
from glue_jobs.engine.supervisor import DesiredQuery, Query, Supervisor
from glue_jobs.kafka.source_and_sink import QueryPlan, raw_records, written_to_kafka

STATE: Final = "digests of events by bucket, in RocksDB"
"""What the query keeps between batches; change it with its columns, ``BUCKETS`` or digests."""

_STORE: Final = "spark.sql.streaming.stateStore"
STATE_SETTINGS: Final[Mapping[str, str]] = {
    f"{_STORE}.providerClass": (
        "org.apache.spark.sql.execution.streaming.state.RocksDBStateStoreProvider"
    ),
    # A batch writes what it changed, not its whole state.
    f"{_STORE}.rocksdb.changelogCheckpointing.enabled": "true",
    # All states of a worker share so much, however many flows there are.
    f"{_STORE}.rocksdb.boundedMemoryUsage": "true",
    f"{_STORE}.rocksdb.maxMemoryUsageMB": "256",
}


def unique_records(canonical: DataFrame, *, stream: str, window_s: int) -> DataFrame:
    """Leave out events that came within the window already; records stay as they are.

    Needs the columns of ``raw_records``; gives topic string, and key, value, headers untouched.
    An event is forgotten by when it was read, not by any time of a record's: whatever lags, or was
    in the spool for days, is new when it is new.
    """
    bundles = canonical.select(*NEEDED).mapInArrow(bundled, BUNDLES_TYPE).groupBy("bucket")
    new = bundles.transformWithStateInPandas(
        LeaveOutRepeats(window_s * 1_000),
        outputStructType="records binary",
        outputMode="Append",
        timeMode="ProcessingTime",
    )
    records = new.mapInArrow(unbundled, RECORDS_TYPE)
    return records.select(F.lit(unique_topic(stream)).alias("topic"), "key", "value", "headers")


def start(session: SparkSession, arguments: DeduplicateArguments) -> Supervisor:
    """Give what supervises the queries, one for each flow that dedupes; returns at once."""
    flows = store.FlowStore(s3_client(AwsSettings()), arguments.flows_bucket)
    return supervised(
        partial(started, session, arguments),
        flows=store.CachedFlows(flows, max_age_s=arguments.flows_max_age_s),
        deduped=DedupedStreams(HadoopFiles(session, arguments.checkpoint_folder)),
    )


def supervised(
    start_one: Callable[[str, int], Query],
    *,
    flows: store.CurrentFlows,
    deduped: DedupedStreams,
    clock_s: Callable[[], float] = time.monotonic,
) -> Supervisor:
    """Give what supervises a query for each stream that was ever deduped, with its own window.

    A flow that dedupes no longer keeps its query, with the window that it had: consumers of its
    topic would wait for ever. Another window takes another query. Until flows can be read the
    first time, those of before go on; where there are none, that counts as a query that cannot be
    started. Where none were ever in force there is nothing to dedupe: a first deploy puts flows
    into force only once its jobs have begun.
    """

    def desired() -> Mapping[str, DesiredQuery]:
        before = deduped.windows_s()
        try:
            current = flows.current().flows
        except store.FlowsNotPublishedError:
            current = ()
        except store.FlowsUnavailableError:
            if not before:
                ended_queries().add()
                raise
            current = ()
        now = {flow.stream: flow.dedupe.window_s for flow in current if flow.dedupe is not None}
        windows_s = {**before, **now}
        if windows_s != before:
            deduped.remember(windows_s)
        return {
            query_name(stream): DesiredQuery(
                start=partial(start_one, stream, window_s), settings=window_s
            )
            for stream, window_s in windows_s.items()
        }

    return Supervisor(desired, clock_s=clock_s)


def query_name(stream: str) -> str:
    return f"deduplicate_{stream}"


def started(
    session: SparkSession, arguments: DeduplicateArguments, stream: str, window_s: int
) -> StreamingQuery:
    """Start a stream's query, where it was if it ran before; raises ``PlanChangedError``."""
    pattern = canonical_pattern(stream)
    canonical = raw_records(
        session_with_state(session, partitions=arguments.dedupe_state_partitions),
        arguments,
        pattern=pattern,
        messages_per_batch_max=arguments.dedupe_events_per_batch_max,
    )
    records = unique_records(canonical, stream=stream, window_s=window_s)
    name, writes = query_name(stream), unique_topic(stream)
    trigger_ms = max(1, arguments.dedupe_trigger_ms)
    plan = QueryPlan(name=name, pattern=pattern, trigger_ms=trigger_ms, state=STATE, writes=writes)
    return written_to_kafka(records, arguments, plan=plan)


@cache
def session_with_state(session: SparkSession, *, partitions: int) -> SparkSession:
    """A session of the same application, whose queries keep their state so, in so many partitions.

    One for all of them, however often they are started: Spark deletes none.
    """
    # Where Spark's driver starts a process for the state of a query, that has this path alone.
    session.sparkContext.environment["PYTHONPATH"] = os.pathsep.join(sys.path)
    settings = {**STATE_SETTINGS, "spark.sql.shuffle.partitions": str(partitions)}
    return session_with(session, settings)
