"""The one Python boundary: Arrow batches of raw records in, batches of output records out."""

import gc
import logging
import math
import os
import tempfile
import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from functools import cache
from hashlib import blake2b
from itertools import chain
from pathlib import Path
from typing import Final

import pyarrow as pa
import pyarrow.compute as pc

from clients.aws import AwsSettings, s3_client
from clients.flows.kept_flows import KeptFlows
from clients.flows.parser_store import ParserStore
from clients.flows.store import CachedFlows, FlowStore, OwnerFlows
from clients.s3.blocked_messages import BlockedMessages
from clients.s3.payload_bucket import PayloadBucket, copying_client
from fleetlane.events import headers as ce
from fleetlane.events.errors import FleetlaneError
from fleetlane.events.job_arguments import ParseLaneArguments, Sandbox
from fleetlane.events.lanes import Lane
from fleetlane.events.times import now_ms
from fleetlane.parsers.sandbox.platforms import sandboxes_for_this_system
from glue_jobs.parse_lane.budgets import FlowBudgets
from glue_jobs.parse_lane.halting import BlockedError, HaltOnError
from glue_jobs.parse_lane.lane_parser import LaneParser
from glue_jobs.parse_lane.parsers.chosen_parsers import ChosenParsers
from glue_jobs.parse_lane.parsers.parser_folders import ParserFolders
from glue_jobs.parse_lane.parsers.programs import Programs
from glue_jobs.parse_lane.reading.payloads import COPIES_S_MAX, Payloads
from glue_jobs.parse_lane.reading.raw_batches import joined_for_flows
from glue_jobs.parse_lane.results import output_batches

_log = logging.getLogger(__name__)

COLLECTED_OBJECTS_MAX: Final = 5_000
ARTIFACT_S_MAX: Final = 30.0
"""So long a lane waits for an artifact: the largest, at 9 MiB a second."""

_sandboxes: Final = cache(sandboxes_for_this_system)
s3_clients: Final = cache(lambda: (s3_client(AwsSettings()), copying_client(AwsSettings())))
"""One of each a worker process, for all lanes that it serves."""


class JailOpenError(FleetlaneError):
    """A part of the jail is missing or does not hold, and the stage requires all of it."""

    problem: str
    sentence = (
        "the parsers' jail is incomplete: {problem}. With `sandbox = required` no parser runs here;"
        " `available` in infra/stages.toml lets them run with an alarm"
    )


type ParseBatches = Callable[[Iterable[pa.RecordBatch]], Iterable[pa.RecordBatch]]


def parsing(arguments: ParseLaneArguments) -> ParseBatches:
    """The function that Spark runs in its Python workers."""

    def parse(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        if arguments.lane is Lane.SLOW:
            apart_ms = arguments.limits.trigger_ms
            batches = spaced_tries(batches, apart_ms=apart_ms, now_ms=now_ms, sleep=time.sleep)
        if arguments.lane in (Lane.FAST, Lane.STANDARD):
            batches = joined_for_flows(batches)
        yield from parsed_batches(lane_parser_of(arguments), batches)
        freeze_loaded()

    return parse


def freeze_loaded() -> None:
    """Leave what is loaded out of the collection that Spark makes at each task's end.

    With what modules load at their first use it took .1 s, most of a worker's CPU.
    """
    if len(gc.get_objects()) > COLLECTED_OBJECTS_MAX:
        gc.collect()  # what is frozen as garbage would stay
        gc.freeze()


def parsed_batches(
    lane_parser: LaneParser, batches: Iterable[pa.RecordBatch]
) -> Iterator[pa.RecordBatch]:
    """Parse all record batches of one task: its part of a batch of the query."""
    rows = output_batches.OutputBatches()
    small_bytes_max = 0 if lane_parser.is_slow else output_batches.SMALL_BYTES_MAX
    columns = output_batches.JoinedBatches(small_bytes_max=small_bytes_max)
    lane_parser.begin_batch()
    try:
        for output in chain.from_iterable(map(lane_parser.outputs_of, batches)):
            if isinstance(output, output_batches.OutputRecord):
                rows.add(output)
                if rows.is_full:
                    yield rows.taken()
            elif len(output):
                yield from columns.add(output_batches.as_batch(output))
    except BlockedError:  # what stood before is not held up by it
        yield from columns.taken()
        yield rows.taken()
        raise
    yield from columns.taken()
    yield rows.taken()


def checked_jail(problems: Mapping[str, str], sandbox: Sandbox) -> int:
    """Log and count what is missing or open; raises ``JailOpenError`` where all is required."""
    for part, problem in problems.items():
        _log.error("the parsers' jail: part %s does not hold: %s", part, problem)
    if problems and sandbox is Sandbox.REQUIRED:
        raise JailOpenError("; ".join(f"{part}: {text}" for part, text in problems.items()))
    return len(problems)


@cache
def flows_in_force(bucket: str, max_age_s: int) -> CachedFlows:
    """One a worker process, too: S3 is asked once for all of them."""
    s3, _ = s3_clients()
    kept = KeptFlows(FlowStore(s3, bucket), parsers_folder())
    return CachedFlows(kept, max_age_s=max_age_s, kept=kept.last)


@cache
def lane_parser_of(arguments: ParseLaneArguments) -> LaneParser:
    """One a worker process: workers outlive batches, and clients are expensive."""
    queries = blake2b(arguments.checkpoint_folder.encode(), digest_size=16).hexdigest()
    shared = _folder_of_ours("budgets") / queries
    sandboxes = _sandboxes(shared)
    checked_jail(sandboxes.jail_problems(), arguments.sandbox)
    (s3, _), limits = s3_clients(), arguments.limits
    owned = OwnerFlows(s3, arguments.flows_bucket)
    artifacts = ParserStore(s3, arguments.flows_bucket, body_s_max=ARTIFACT_S_MAX)
    blocked = BlockedMessages(s3, arguments.parked_bucket)
    is_blocking = arguments.blocking_stream is not None
    return LaneParser(
        budgets=FlowBudgets(
            arguments.lane,
            limits,
            is_over=arguments.is_over,
            is_blocking=is_blocking,
            shared=shared / arguments.lane,
        ),
        parsers=ChosenParsers(
            flows=flows_in_force(arguments.flows_bucket, arguments.flows_max_age_s),
            earlier=lambda owner, version: owned.of(owner).published(version),
            programs=Programs(
                folders=ParserFolders(artifacts, parsers_folder()),
                sandboxes=sandboxes,
                limits=limits,
            ),
            limits=limits,
            of_blocking_flow=is_blocking,
        ),
        payloads=payloads_of(arguments),
        sandboxes=sandboxes,
        now_ms=now_ms,
        halt=HaltOnError(blocked, now_ms=now_ms) if is_blocking else None,
    )


def payloads_of(arguments: ParseLaneArguments) -> Payloads:
    """The lane's payloads: one client reads them, and one with more patience copies them."""
    s3, copies = s3_clients()
    return Payloads(
        landed=PayloadBucket(s3, arguments.payload_bucket, copies=copies),
        parked=PayloadBucket(s3, arguments.parked_bucket),
        parked_bucket=arguments.parked_bucket,
        copies_s_max=math.inf if arguments.lane is Lane.SLOW else COPIES_S_MAX,
    )


def parsers_folder() -> Path:
    """Where all workers of this user keep what they fetched: parsers, and the flows in force."""
    return _folder_of_ours("parsers")


def _folder_of_ours(what: str) -> Path:
    return Path(tempfile.gettempdir()) / f"fleetlane-{what}-{os.getuid()}"


def spaced_tries(
    batches: Iterable[pa.RecordBatch],
    *,
    apart_ms: int,
    now_ms: Callable[[], int],
    sleep: Callable[[float], None],
) -> Iterator[pa.RecordBatch]:
    """Give record batches, each once the last try of all of its messages is ``apart_ms`` ago.

    A trigger alone does not see to it: a batch that takes long is followed by the next at once.
    When a try ended is when Kafka got the message back: ``timestamp`` of its record. Waits for
    ``apart_ms`` at most, whatever clocks say, and not at all for messages that come first.
    """
    for batch in batches:
        last_ms = _last_try_ms(batch)
        if last_ms is not None:
            left_ms = last_ms + apart_ms - now_ms()
            sleep(min(max(left_ms, 0), apart_ms) / 1000)
        yield batch


def _last_try_ms(batch: pa.RecordBatch) -> int | None:
    headers = batch.column("headers")
    is_tried = pc.equal(headers.flatten().field("key"), ce.SLOW_TRIES)
    rows = pc.list_parent_indices(headers).filter(is_tried)
    if not len(rows):
        return None
    times = batch.column("timestamp").take(rows).cast(pa.timestamp("ms", tz="UTC"), safe=False)
    newest_ms: int | None = pc.max(times.cast(pa.int64())).as_py()
    return newest_ms
