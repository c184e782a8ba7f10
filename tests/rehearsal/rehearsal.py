"""A stage's applications, started as their engine starts them, until each did its first work."""

import time
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import ExitStack, closing, contextmanager
from dataclasses import dataclass, replace
from itertools import count
from pathlib import Path
from types import MappingProxyType
from typing import Final, Protocol

from clients.kafka.reader import KafkaReader
from fleetlane.events.envelope import Record
from fleetlane.events.lake.tables import EVENTS, PARSED, RAW, RECEIVED
from fleetlane.events.lanes import Lane
from fleetlane.events.metadata import Parsed, parsed_from
from fleetlane.events.s3_keys import STOP_MARKERS
from fleetlane.events.topics import FLEET_PARSED
from glue_jobs.host import query_names
from infra.constructs.jobs.spark_applications import APPLICATION_PREFIX
from local.servers.processes import ServerProcess
from operations.ledger.message_results import Receipt
from operations.ledger.reconciliation import Ledger
from tests.rehearsal.deployed_stage import DeployedStage
from tests.rehearsal.emr import Emr
from tests.rehearsal.failures import failure_of, watching
from tests.rehearsal.glue import Glue
from tests.rehearsal.messages import lake_of, land, reckon

LAKE: Final = "lake"
_KEPT: Final = (EVENTS, RECEIVED, PARSED, RAW)
"""Tables with a row a message or more."""
STANDING_LEDGER: Final = "standing_ledger"
"""No query: what it does is in its table."""

_NONE: Final = -1
_NUMBERS = count(1)


class Engine(Protocol):
    """What starts a stage's applications; ``Glue`` and ``Emr`` are."""

    @property
    def stage(self) -> DeployedStage: ...
    def applications(self) -> Mapping[str, object]: ...
    def script_arguments(self, name: str) -> Mapping[str, str]: ...
    def started(self, name: str, folder: Path) -> ServerProcess: ...


def interpreting[E: (Glue, Emr)](engine: E) -> E:
    """The same, for what does not hang on how plans are run."""
    return replace(engine, image=replace(engine.image, interprets=True))


@contextmanager
def running(engine: Engine, name: str, folder: Path) -> Iterator[ServerProcess]:
    """An application, killed at the end: what it did not commit comes again."""
    process = engine.started(name, folder / f"{name}-{next(_NUMBERS)}")
    try:
        yield process
    finally:
        process.kill()


def parsed_by(
    engine: Engine,
    name: str,
    receipts: Sequence[Receipt],
    process: ServerProcess,
    *,
    limit_s: float,
) -> Ledger:
    """Wait until a lane's application has parsed what was accepted, and all its queries committed.

    Raises:
        RehearsalFailedError: They have not, for the cause in the last lines.
    """
    ledger = reckon(engine.stage, receipts, within_s=limit_s, wait=watching(process))
    if not ledger.is_balanced:
        raise failure_of(process, f"not settled in {limit_s:g} s: {ledger.line()}")
    _wait_for_commits(engine, name, process, limit_s=limit_s)
    return ledger


def kept_by(
    engine: Engine, receipts: Sequence[Receipt], process: ServerProcess, *, limit_s: float
) -> Ledger:
    """Wait until the lake's application has all in its tables; raises as ``parsed_by`` does."""
    wait, ends_s = watching(process), time.monotonic() + limit_s
    ledger = reckon(engine.stage, receipts, within_s=limit_s, wait=wait, has_lake=True)
    if not ledger.is_balanced:
        raise failure_of(process, f"not in the lake in {limit_s:g} s: {ledger.line()}")
    _wait_for_commits(engine, LAKE, process, limit_s=limit_s)
    # A table's first batch may have begun before any of its rows was in Kafka.
    while min((rows := _rows_kept(engine.stage)).values()) < len(receipts):
        if time.monotonic() > ends_s:
            raise failure_of(process, f"not in the lake in {limit_s:g} s: {rows}")
        wait(0)
    return ledger


@dataclass(frozen=True, slots=True, kw_only=True)
class Resumed:
    """What became of new messages once all applications had run, two of them from checkpoints."""

    parsed: Ledger
    kept: Ledger


def other_lanes_and_what_resumes(
    engine: Engine, folder: Path, *, messages: int, limit_s: float
) -> Resumed:
    """Run the other lanes beside each other; then the standard lane and the lake once more.

    Those two must have done their work before: both were killed, and go on from checkpoints. What
    counts messages of all lanes is in the standard lane's application. Raises as ``parsed_by``.
    """
    landed = {lane: land(engine.stage.ground, lane, messages=messages) for lane in Lane}
    receipts = [receipt for of_lane in landed.values() for receipt in of_lane]
    with ExitStack() as stack:
        others = [lane for lane in Lane if lane is not Lane.STANDARD]
        started = {lane: stack.enter_context(running(engine, lane, folder)) for lane in others}
        for lane, process in started.items():
            _wait_for_outcomes(engine, landed[lane], process, limit_s=limit_s)
            _wait_for_commits(engine, lane, process, limit_s=limit_s)
    before = _batches(engine)
    with running(engine, Lane.STANDARD, folder) as standard, running(engine, LAKE, folder) as lake:
        parsed = parsed_by(engine, Lane.STANDARD, receipts, standard, limit_s=limit_s)
        kept = kept_by(engine, receipts, lake, limit_s=limit_s)
        _wait_for_commits(engine, LAKE, lake, limit_s=limit_s, after=before)
        _end(engine, LAKE, lake, limit_s=limit_s)
    return Resumed(parsed=parsed, kept=kept)


def _end(engine: Engine, name: str, process: ServerProcess, *, limit_s: float) -> None:
    """As a deploy does it, so that whatever starts next waits for no lease."""
    bucket, marker = engine.stage.bucket("checkpoints"), f"{STOP_MARKERS}{APPLICATION_PREFIX}{name}"
    engine.stage.ground.s3.put_object(Bucket=bucket, Key=marker)
    if not process.wait(limit_s):
        raise failure_of(process, f"{name} has not ended in {limit_s:g} s")


def _batches(engine: Engine) -> Mapping[str, int]:
    """The last batch that each query which writes the lake's tables committed."""
    writers = [one for one in queries_of(engine, LAKE) if one.startswith(f"{LAKE}_")]
    return {one: committed(engine.stage, one) for one in writers}


def _rows_kept(stage: DeployedStage) -> dict[str, int]:
    """How many rows the tables have that every message has one in."""
    with lake_of(stage) as catalog:
        database = catalog.properties["database"]
        counted = {one.name: catalog.load_table((database, one.name)) for one in _KEPT}
        return {name: table.scan().count() for name, table in counted.items()}


def queries_of(engine: Engine, name: str) -> list[str]:
    """What the checkpoints of an application's queries begin with."""
    arguments = engine.script_arguments(name)
    words = [word for pair in arguments.items() for word in pair]
    names = query_names(arguments["--jobs"], words)
    return [one for one in names if one != STANDING_LEDGER]


def _wait_for_outcomes(
    engine: Engine, receipts: Sequence[Receipt], process: ServerProcess, *, limit_s: float
) -> None:
    """Until an attempt at each of these messages has ended."""
    wait, ends_s = watching(process), time.monotonic() + limit_s
    missing = {one.raw_id for one in receipts}
    servers = engine.stage.ground.broker.bootstrap_servers
    with closing(KafkaReader(servers, topics=[FLEET_PARSED])) as reader:
        while missing := missing - {one.id for one in _attempts(reader.read_available())}:
            if time.monotonic() > ends_s:
                raise failure_of(process, f"{len(missing)} messages not parsed in {limit_s:g} s")
            wait(0)


def _attempts(records: Iterable[Record]) -> Iterator[Parsed]:
    return (parsed_from(one.value or b"") for one in records)


def _wait_for_commits(
    engine: Engine,
    name: str,
    process: ServerProcess,
    *,
    limit_s: float,
    after: Mapping[str, int] = MappingProxyType({}),
) -> None:
    """Until each query of an application has committed a batch in S3, ``after`` some number."""
    wait, ends_s = watching(process), time.monotonic() + limit_s
    missing = queries_of(engine, name)
    while missing:
        missing = [one for one in missing if committed(engine.stage, one) <= after.get(one, _NONE)]
        if missing and time.monotonic() > ends_s:
            raise failure_of(process, f"no batch of {', '.join(missing)} in {limit_s:g} s")
        if missing:
            wait(0)


def committed(stage: DeployedStage, query: str) -> int:
    """The last batch that a query committed, in S3; ``_NONE`` for none.

    Beside a marker for the folder itself there is a file for each batch, named by its number.
    """
    numbers = [key.rpartition("/commits/")[2] for key in stage.checkpoint_keys(query)]
    return max((int(number) for number in numbers if number.isdigit()), default=_NONE)
