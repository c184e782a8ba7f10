"""A lake in a folder of its own, and queries that write it, batch by batch."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from pyspark.sql import DataFrame, Row, SparkSession

from clients.s3.lease import Lease
from fleetlane.events.flows.files import PublishedFlows
from fleetlane.events.flows.flow import Flow
from fleetlane.events.job_arguments import KafkaSecurity, LakeArguments, LakeTables
from fleetlane.events.lake.tables import EVENTS, REPEATS, LakeTable
from glue_jobs.engine.checkpoint_notes import DedupedStreams
from glue_jobs.engine.session import table_name, use_catalog
from glue_jobs.lake.batches import TABLES_OF, LakeBatches
from glue_jobs.lake.main import ensure_table
from glue_jobs.lake.upkeep import LeaseGuard
from tests.lease_in_memory import LeaseInMemory
from tests.spark.lake_records import Record, Sent, read
from tests.unit.glue_jobs.memory_files import MemoryFiles

ONCE = "tracks"
NO_CODE_TO_COMPILE = {
    "spark.sql.adaptive.enabled": "false",
    "spark.sql.codegen.factoryMode": "NO_CODEGEN",
    "spark.sql.codegen.wholeStage": "false",
}
"""For a handful of rows, compiling takes far longer than running."""


@dataclass
class GivenFlows:
    """Flows in force that a test changes."""

    flows: Sequence[Flow] = ()

    def current(self) -> PublishedFlows:
        return PublishedFlows.of(self.flows)


DEDUPED = DedupedStreams(MemoryFiles())
DEDUPED.remember({ONCE: 600})


@dataclass(frozen=True, slots=True, kw_only=True)
class Lake:
    """``erased_until_ms`` is what was noted of erased devices."""

    session: SparkSession
    arguments: LakeArguments
    erased_until_ms: dict[str, int] = field(default_factory=dict)
    flows: GivenFlows = field(default_factory=GivenFlows)

    def query(
        self, name: str, tables: LakeTables = LakeTables.EVENTS, *, lease: Lease | None = None
    ) -> "Query":
        return Query(lake=self, name=name, tables=tables, batches=self.batches(tables, lease))

    def batches(self, tables: LakeTables, lease: Lease | None = None) -> LakeBatches:
        lease = lease or Lease(LeaseInMemory(), holder="a", lease_s=1e6)
        turns = LeaseGuard(lease, prepare=lambda: self.prepare(tables), keep=lambda _: lambda: True)
        return LakeBatches(
            session=self.session,
            which=tables,
            guard=turns,
            deduped=DEDUPED,
            erased_until_ms=lambda: self.erased_until_ms,
            flows=self.flows,
        )

    def prepare(self, tables: LakeTables) -> None:
        for table in TABLES_OF[tables]:
            ensure_table(self.session, table)

    def table(self, table: LakeTable) -> DataFrame:
        return self.session.table(table_name(self.session, table))

    def append_again(self, table: LakeTable) -> None:
        """As one does that knows nothing of what is there."""
        self.table(table).writeTo(table_name(self.session, table)).append()

    def rows(self, table: LakeTable, *sent: Sent) -> Sequence[Row]:
        ids = ", ".join(f"'{one.raw_id}'" for one in sent)
        name = "raw_id" if table in (EVENTS, REPEATS) else "id"
        found = self.table(table).where(f"{name} IN ({ids})")
        return found.orderBy(*table.key).collect()


@dataclass(frozen=True, slots=True, kw_only=True)
class Query:
    """A query's batches, numbered as given. A query of the same name goes on with it.

    What a fleet's batch touches is counted at once.
    """

    lake: Lake
    name: str
    batches: LakeBatches
    tables: LakeTables = LakeTables.EVENTS

    def write(self, number: int, records: Iterable[Record]) -> None:
        context = self.lake.session.sparkContext
        context.setLocalProperty("sql.streaming.queryId", self.name)
        self.batches.write(read(self.lake.session, records), number)
        if self.tables is LakeTables.FLEET:
            self.batches.count()


def lake_in(folder: Path, spark: SparkSession) -> Lake:
    arguments = LakeArguments(
        kafka_bootstrap_servers="none",
        kafka_security=KafkaSecurity.PLAINTEXT,
        checkpoint_folder=(folder / "checkpoints").as_uri(),
        tables=LakeTables.EVENTS,
        lake_warehouse=folder.as_uri(),
        lake_bucket="none",
        payload_bucket="none",
        flows_bucket="none",
        lake_catalog_uri=f"jdbc:sqlite:{folder}/catalog.db",
        lake_database="fleetlane_dev",
    )
    session = spark.newSession()
    for name, value in NO_CODE_TO_COMPILE.items():
        session.conf.set(name, value)
    uri, database = arguments.lake_catalog_uri, arguments.lake_database
    use_catalog(session, warehouse=arguments.lake_warehouse, uri=uri, database=database)
    return Lake(session=session, arguments=arguments)
