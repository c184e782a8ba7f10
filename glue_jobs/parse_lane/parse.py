"""The one Python boundary: Arrow batches of raw records in, batches of output records out."""

import time
from collections.abc import Callable, Iterable, Iterator
from functools import cache

import pyarrow as pa

from clients.aws import AwsSettings, s3_client
from clients.flow_store import CachedFlows, FlowStore
from clients.payload_bucket import PayloadBucket
from fleetlane.events.job_arguments import ParseLaneArguments
from glue_jobs.parse_lane.lane_parser import LaneParser
from glue_jobs.parse_lane.output_batches import OutputBatches
from glue_jobs.parse_lane.payloads import Payloads
from glue_jobs.parse_lane.raw_batches import raw_records_of

type ParseBatches = Callable[[Iterable[pa.RecordBatch]], Iterable[pa.RecordBatch]]


def parsing(arguments: ParseLaneArguments) -> ParseBatches:
    """The function that Spark runs in its Python workers."""

    def parse(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        lane_parser, output = _lane_parser(arguments), OutputBatches()
        for batch in batches:
            for record in raw_records_of(batch):
                output.extend(lane_parser.outputs_of(record))
                if output.is_full:
                    yield output.taken()
        yield output.taken()

    return parse


@cache
def _lane_parser(arguments: ParseLaneArguments) -> LaneParser:
    """One a worker process: workers outlive batches, and clients are dear."""
    s3 = s3_client(AwsSettings())
    return LaneParser(
        lane=arguments.lane,
        limits=arguments.limits,
        flows=CachedFlows(FlowStore(s3, arguments.flows_bucket)),
        payloads=Payloads(
            landed=PayloadBucket(s3, arguments.payload_bucket),
            parked=PayloadBucket(s3, arguments.parked_bucket),
            parked_bucket=arguments.parked_bucket,
        ),
        now_ms=now_ms,
    )


def now_ms() -> int:
    return time.time_ns() // 1_000_000
