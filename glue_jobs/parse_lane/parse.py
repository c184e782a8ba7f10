"""The one Python boundary: Arrow batches of raw records in, batches of output records out."""

import time
from collections.abc import Callable, Iterable, Iterator
from functools import cache

import pyarrow as pa

from clients.aws import AwsSettings, s3_client
from clients.blocked_messages import BlockedMessages
from clients.flow_store import CachedFlows, FlowStore
from clients.payload_bucket import PayloadBucket
from fleetlane.events.job_arguments import ParseLaneArguments
from fleetlane.parsers.sandbox.columns import CanonicalRecords
from fleetlane.parsers.sandbox.platforms import ParsesRuns, sandboxes_for_this_system
from glue_jobs.parse_lane.blockade import Blockade, BlockedError
from glue_jobs.parse_lane.lane_parser import LaneParser, Output
from glue_jobs.parse_lane.output_batches import OutputBatches, canonical_batch
from glue_jobs.parse_lane.payloads import Payloads
from glue_jobs.parse_lane.raw_batches import raw_records_of

type ParseBatches = Callable[[Iterable[pa.RecordBatch]], Iterable[pa.RecordBatch]]


def parsing(arguments: ParseLaneArguments) -> ParseBatches:
    """The function that Spark runs in its Python workers."""
    is_blocking = arguments.blocking_stream is not None

    def parse(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        lane_parser, rows = _lane_parser(arguments), OutputBatches()
        lane_parser.begin_batch()
        try:
            for batch in batches:
                for output in _outputs(lane_parser, batch, is_blocking=is_blocking):
                    if isinstance(output, CanonicalRecords):
                        if len(output):
                            yield canonical_batch(output)
                        continue
                    rows.add(output)
                    if rows.is_full:
                        yield rows.taken()
        except BlockedError:  # what stood before is not held up by it
            yield rows.taken()
            raise
        yield rows.taken()

    return parse


def _outputs(
    lane_parser: LaneParser, batch: pa.RecordBatch, *, is_blocking: bool
) -> Iterator[Output]:
    """All that comes of a batch. Where one message may stop all, each is done before the next."""
    records = raw_records_of(batch)
    for some in ([record] for record in records) if is_blocking else (records,):
        yield from lane_parser.outputs_of(some)


@cache
def _lane_parser(arguments: ParseLaneArguments) -> LaneParser:
    """One a worker process: workers outlive batches, and clients are dear."""
    s3 = s3_client(AwsSettings())
    lane_parser = LaneParser(
        lane=arguments.lane,
        limits=arguments.limits,
        flows=CachedFlows(FlowStore(s3, arguments.flows_bucket)),
        payloads=Payloads(
            landed=PayloadBucket(s3, arguments.payload_bucket),
            parked=PayloadBucket(s3, arguments.parked_bucket),
            parked_bucket=arguments.parked_bucket,
        ),
        sandboxes=_sandboxes(),
        now_ms=now_ms,
    )
    if arguments.blocking_stream is not None:
        blocked = BlockedMessages(s3, arguments.parked_bucket)
        lane_parser.stop_at_failures(Blockade(blocked, now_ms=now_ms))
    return lane_parser


def now_ms() -> int:
    return time.time_ns() // 1_000_000


@cache
def _sandboxes() -> ParsesRuns:
    """One a worker process, for all lanes that it serves."""
    return sandboxes_for_this_system()
