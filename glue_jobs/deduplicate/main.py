"""Job ``deduplicate``: canonical events to ``unique.<stream>``, for each flow that wants it."""

from pyspark.sql import SparkSession
from pyspark.sql.streaming.query import StreamingQuery

from clients.aws import AwsSettings, s3_client
from clients.flows.store import CachedFlows, FlowStore
from fleetlane.events.job_arguments import DeduplicateArguments
from fleetlane.events.topics import canonical_pattern
from glue_jobs.deduplicate.queries import UniqueQueries
from glue_jobs.deduplicate.state import state_kept
from glue_jobs.deduplicate.transforms import STATE, unique_records
from glue_jobs.engine.deduped_streams import DedupedStreams
from glue_jobs.engine.entry_point import run
from glue_jobs.engine.hadoop_files import HadoopFiles
from glue_jobs.kafka.source_and_sink import QueryPlan, raw_records, written_to_kafka


def start(session: SparkSession, arguments: DeduplicateArguments) -> UniqueQueries:
    """Give what looks after the queries, whenever somebody waits for it; returns at once."""

    def start_one(stream: str, window_s: int) -> StreamingQuery:
        return started(session, arguments, stream=stream, window_s=window_s)

    flows = FlowStore(s3_client(AwsSettings()), arguments.flows_bucket)
    return UniqueQueries(
        start_one,
        flows=CachedFlows(flows, max_age_s=arguments.flows_max_age_s),
        remembered=DedupedStreams(HadoopFiles(session, arguments.checkpoint_folder)),
    )


def started(
    session: SparkSession, arguments: DeduplicateArguments, *, stream: str, window_s: int
) -> StreamingQuery:
    """Start one stream's query, from the beginning of its topic or from where it was.

    Raises:
        PlanChangedError: Its checkpoint cannot take it.
    """
    canonical = raw_records(
        session,
        arguments,
        pattern=canonical_pattern(stream),
        messages_per_batch_max=arguments.dedupe_events_per_batch_max,
    )
    records = unique_records(canonical, stream=stream, window_s=window_s)
    name, trigger_ms = f"deduplicate_{stream}", max(1, arguments.dedupe_trigger_ms)
    plan = QueryPlan(name=name, trigger_ms=trigger_ms, state=STATE)
    with state_kept(session, partitions=arguments.dedupe_state_partitions):
        return written_to_kafka(records, arguments, plan=plan)


if __name__ == "__main__":
    run("deduplicate", start, DeduplicateArguments)
