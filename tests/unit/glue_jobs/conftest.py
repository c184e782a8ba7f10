"""A lane parser over buckets in memory, and raw records for it."""

from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from hashlib import sha256
from itertools import starmap
from pathlib import Path

import pyarrow as pa
import pytest

from clients.flows.parser_store import ArtifactMissingError
from clients.flows.store import FlowsNotPublishedError
from clients.s3.payload_bucket import (
    PayloadCorruptError,
    PayloadMissingError,
    PayloadUnavailableError,
)
from fleetlane.events.envelope import Message, PayloadReference, headers_of
from fleetlane.events.flows.artifacts import FlowArtifact
from fleetlane.events.flows.files import PublishedFlows, flow_from_toml
from fleetlane.events.lanes import LANE_LIMITS, Lane, LaneLimits
from fleetlane.parsers.sandbox.canonical_records import CanonicalRecords
from fleetlane.parsers.sandbox.platforms import ParsesRuns, sandboxes_for_this_system
from glue_jobs.kafka.source_and_sink import HEADERS
from glue_jobs.parse_lane.budgets import FlowBudgets
from glue_jobs.parse_lane.lane_parser import LaneParser, Output
from glue_jobs.parse_lane.parsers.chosen_parsers import ChosenParsers
from glue_jobs.parse_lane.parsers.parser_folders import ParserFolders
from glue_jobs.parse_lane.parsers.programs import Programs
from glue_jobs.parse_lane.reading.fast_path import BY_COLUMN_MIN
from glue_jobs.parse_lane.reading.payloads import Payloads
from glue_jobs.parse_lane.reading.raw_batches import RawBatch, RawRecord
from glue_jobs.parse_lane.results.output_batches import OutputRecord

ARRIVAL_MILLIS = 1_762_178_709_123
NOW_MS = ARRIVAL_MILLIS + 500
RAW_ID = "1" + "ab" * 16

FLOW = """
stream = "gps"
owner = "acme"
[event_time]
field = "at"
unit = "ms"
[canonical]
redirects = [{ when = "kind", equals = "alarm", to = "gps-alarms" }]
[limits]
events_max = 5
event_bytes_max = 100
[[parsers]]
use = "json"
firmware = ">=2"
[[parsers]]
use = "acme-thermo==9.9"
device_types = ["future-thing"]
[[parsers]]
use = "json"
"""


class MemoryBucket:
    """A bucket in memory that keeps the contract of ``PayloadBucket``."""

    def __init__(self, others: dict[str, "MemoryBucket"] | None = None) -> None:
        self.objects: dict[str, bytes] = {}
        self.is_down = False
        self.unreachable = set[str]()
        self.copies_asked = 0
        self._others = others or {}

    def put(self, key: str, body: bytes, sha256_hex: str) -> PayloadReference:
        self._reach(key)
        self.objects[key] = body
        return PayloadReference(key=key, sha256=sha256_hex)

    def get(self, reference: PayloadReference, *, body_bytes: int, bytes_max: int) -> bytes:
        assert body_bytes <= bytes_max
        self._reach(reference.key)
        if reference.key not in self.objects:
            raise PayloadMissingError(reference.key)
        body = self.objects[reference.key]
        if sha256(body).hexdigest() != reference.sha256:
            raise PayloadCorruptError(reference.key, "other bytes", reference.sha256)
        return body

    def has(self, key: str) -> bool:
        if self.is_down:
            raise PayloadUnavailableError(key, "connection refused")
        return key in self.objects

    def copy_to(self, other_bucket: str, key: str, parked_key: str) -> None:
        self.copies_asked += 1
        self._reach(key)
        if key not in self.objects:
            raise PayloadMissingError(key)
        other = self._others[other_bucket]
        if other.is_down:
            raise PayloadUnavailableError(key, "connection refused")
        other.objects[parked_key] = self.objects[key]

    def delete(self, key: str) -> None:
        self._reach(key)
        self.objects.pop(key, None)

    def _reach(self, key: str) -> None:
        if self.is_down or key in self.unreachable:
            raise PayloadUnavailableError(key, "connection refused")


class FixedFlows:
    """``just_published`` are there besides, for a caller that asks for the youngest."""

    def __init__(self, *tomls: str, just_published: Sequence[str] = ()) -> None:
        flows = [flow_from_toml(toml, file="test.toml") for toml in (*tomls, *just_published)]
        self._published = PublishedFlows(version="1", flows=tuple(flows[: len(tomls)]))
        self._youngest = PublishedFlows(version="2", flows=tuple(flows))

    def current(self) -> PublishedFlows:
        return self._published

    def fresh(self, *, max_age_s: float) -> PublishedFlows:
        return self._youngest

    def published(self, owner: str, version: str) -> PublishedFlows:
        raise FlowsNotPublishedError(version)


class NoArtifacts(ParserFolders):
    """No artifact is available."""

    def __init__(self) -> None: ...

    def folder_of(self, artifact: FlowArtifact) -> Path:
        raise ArtifactMissingError(artifact.key)

    def answers(self, artifact: FlowArtifact) -> bool:
        return True

    def release_all(self, *, but: Collection[FlowArtifact] = ()) -> None: ...


def chosen_parsers(
    flows: FixedFlows, sandboxes: ParsesRuns, limits: LaneLimits, *, of_blocking_flow: bool = False
) -> ChosenParsers:
    programs = Programs(folders=NoArtifacts(), sandboxes=sandboxes, limits=limits)
    return ChosenParsers(
        flows=flows,
        earlier=flows.published,
        programs=programs,
        limits=limits,
        of_blocking_flow=of_blocking_flow,
    )


@pytest.fixture
def parked_bucket() -> MemoryBucket:
    return MemoryBucket()


@pytest.fixture
def payload_bucket(parked_bucket: MemoryBucket) -> MemoryBucket:
    return MemoryBucket({"parked-bucket": parked_bucket})


@pytest.fixture(scope="package")
def sandboxes() -> Iterator[ParsesRuns]:
    sandboxes = sandboxes_for_this_system()
    yield sandboxes
    sandboxes.close()


@pytest.fixture(params=[1, BY_COLUMN_MIN], ids=["by column", "one by one"])
def lane_parser(
    payload_bucket: MemoryBucket,
    parked_bucket: MemoryBucket,
    sandboxes: ParsesRuns,
    request: pytest.FixtureRequest,
) -> Callable[[Lane], LaneParser]:
    def made(lane: Lane, flow: str = FLOW) -> LaneParser:
        parser = LaneParser(
            budgets=FlowBudgets(lane, LANE_LIMITS[lane]),
            parsers=chosen_parsers(FixedFlows(flow), sandboxes, LANE_LIMITS[lane]),
            payloads=Payloads(
                landed=payload_bucket, parked=parked_bucket, parked_bucket="parked-bucket"
            ),
            sandboxes=sandboxes,
            now_ms=lambda: NOW_MS,
        )
        parser.by_column_min = request.param
        return parser

    return made


def message_of(body: bytes | None, **changes: object) -> Message:
    fields: dict[str, object] = {
        "raw_id": RAW_ID,
        "device_id": "d-17",
        "stream": "gps",
        "arrival_millis": ARRIVAL_MILLIS,
        "lane": Lane.STANDARD,
        "body": body,
        "body_bytes": len(body or b""),
    }
    return Message(**fields | changes)  # type: ignore[arg-type] # a test's own fields


def record_of(message: Message, *, topic: str = "raw.standard") -> RawRecord:
    key = str(message.arrival_millis).encode()
    return RawRecord(key, message.body, headers_of(message), topic, 1, 42)


RAW_SCHEMA = pa.schema(
    {
        "key": pa.binary(),
        "value": pa.binary(),
        "headers": HEADERS,
        "topic": pa.string(),
        "partition": pa.int32(),
        "offset": pa.int64(),
    }
)


def raw_batch(records: Iterable[RawRecord]) -> RawBatch:
    """Records as Spark hands them to the job."""
    rows = [
        record._asdict() | {"headers": [{"key": k, "value": v} for k, v in record.headers]}
        for record in records
    ]
    return pa.RecordBatch.from_pylist(rows, schema=RAW_SCHEMA)


def rows_of(outputs: Iterable[Output]) -> list[OutputRecord]:
    """All rows, those of canonical records among them."""
    rows: list[OutputRecord] = []
    for output in outputs:
        if isinstance(output, OutputRecord):
            rows.append(output)
        elif isinstance(output, CanonicalRecords):
            rows.extend(starmap(OutputRecord, output))
        else:
            rows.extend(OutputRecord(**row) for row in output.to_pylist())
    return rows
