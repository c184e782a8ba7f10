"""Records of the raw topics into the archive, and their bodies by reference beside it."""

import logging
from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from itertools import islice
from typing import Final, Protocol

import pyarrow as pa
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F

from clients.s3.payload_bucket import PayloadMissingError, PayloadUnavailableError
from fleetlane.events.lake.tables import RAW, NoBody
from fleetlane.events.s3_keys import archived_key
from fleetlane.events.times import DAY_MS, rfc3339
from glue_jobs.engine.persisted_rows import persisted
from glue_jobs.engine.session import table_name
from glue_jobs.lake.merging import Target, append_new
from glue_jobs.lake.rows import WAITS_AT, raw_rows, without_erased

COPIES_AT_ONCE: Final = 16
_TRIES: Final = 2
_LOGGED_MAX: Final = 5
_WHY: Final = pa.schema([("sha256", pa.string()), ("why", pa.string())])
_log = logging.getLogger(__name__)


class Bucket(Protocol):
    """A bucket of bodies; ``clients.s3.payload_bucket.PayloadBucket`` is one."""

    def copy_to(self, other_bucket: str, key: str, parked_key: str) -> None: ...
    def has(self, key: str) -> bool: ...
    def delete(self, key: str) -> None: ...


@dataclass(frozen=True, slots=True, kw_only=True)
class ArchivedBodies:
    """Copies bodies from where they expire to keys by their digest in the archive's bucket."""

    waiting: Bucket
    archived: Bucket
    archived_bucket: str
    on_unavailable: Callable[[int], None] = lambda _: None

    def copied(self, places: Iterable[tuple[str, str]]) -> Mapping[str, NoBody]:
        """Copy bodies, given by digest and key; says of which digests there is none, and why.

        A copy onto one that is there is made all the same: it begins to age anew. Raises
        ``PayloadUnavailableError`` where S3 does not answer at all, not for one object's fault.
        """
        keys = defaultdict[str, list[str]](list)
        for digest, key in places:
            keys[digest].append(key)
        with ThreadPoolExecutor(COPIES_AT_ONCE, thread_name_prefix="archive") as threads:
            results = threads.map(self._try, keys.keys(), keys.values())
            outcomes = dict(zip(keys, results, strict=True))
        missed = {digest: why for digest, why in outcomes.items() if why is not None}
        if missed:
            if len(missed) == len(outcomes):
                for bucket in (self.waiting, self.archived):
                    bucket.has(archived_key(""))  # raises where S3 is unavailable
            few = dict(islice(missed.items(), _LOGGED_MAX))
            _log.error("%d bodies of %d cannot be archived: %s", len(missed), len(outcomes), few)
            self.on_unavailable(list(missed.values()).count(NoBody.PAYLOAD_UNAVAILABLE))
        return missed

    def delete(self, digests: Iterable[str]) -> None:
        """Delete bodies; raises ``PayloadUnavailableError``."""
        with ThreadPoolExecutor(COPIES_AT_ONCE, thread_name_prefix="archive") as threads:
            list(threads.map(self.archived.delete, map(archived_key, digests)))

    def _try(self, digest: str, keys: Iterable[str]) -> NoBody | None:
        problem = NoBody.PAYLOAD_MISSING
        for key in (key for key in keys for _ in range(_TRIES)):
            try:
                self.waiting.copy_to(self.archived_bucket, key, archived_key(digest))
            except PayloadMissingError:
                continue
            except PayloadUnavailableError:
                problem = NoBody.PAYLOAD_UNAVAILABLE
            else:
                return None
        return problem


def write_raw(
    records: DataFrame, target: Target, bodies: ArchivedBodies, erased_until_ms: Mapping[str, int]
) -> None:
    """Append the records that are not in the archive yet; nothing if the batch was done.

    A record has the same time in Kafka whenever it is read, so only files that have some of the
    batch's times are looked into.
    """
    if target.log.has(target.batch):
        return
    waits = F.when(F.col(WAITS_AT).isNotNull(), F.struct("sha256", WAITS_AT))
    with persisted(without_erased(raw_rows(records), RAW, erased_until_ms)) as rows:
        [facts] = rows.agg(
            F.min("kafka_ms").alias("first_ms"),
            F.max("kafka_ms").alias("last_ms"),
            F.collect_set("day").alias("days"),
            F.collect_set(waits).alias("places"),
        ).collect()
        if not facts.days:
            return
        days = F.col("day").isin(facts.days)
        near = days & F.col("kafka_ms").between(facts.first_ms, facts.last_ms)
        referring = _with_references(rows, bodies.copied(facts.places))
        append_new(referring, target, near=near, partitions=days)


def _with_references(rows: DataFrame, missed: Mapping[str, NoBody]) -> DataFrame:
    named = [{"sha256": digest, "why": str(reason)} for digest, reason in missed.items()]
    why = rows.sparkSession.createDataFrame(pa.Table.from_pylist(named, _WHY))
    is_archived = F.col(WAITS_AT).isNotNull() & F.col("why").isNull()
    reference = F.when(is_archived, F.concat(F.lit(archived_key("")), "sha256"))
    no_body = F.coalesce("no_body", F.when(F.col(WAITS_AT).isNotNull(), F.col("why")))
    joined = rows.join(F.broadcast(why), "sha256", "left")
    return joined.withColumn("reference", reference).withColumn("no_body", no_body)


def delete_old_days(session: SparkSession, *, now_ms: int, days_max: int) -> None:
    """Delete rows that arrived over ``days_max`` days ago: whole partitions, so no file is read."""
    first = rfc3339(now_ms - days_max * DAY_MS)[:10]
    session.sql(f"DELETE FROM {table_name(session, RAW)} WHERE day < DATE '{first}'")  # noqa: S608 - ours


def delete_bodies(session: SparkSession, bodies: ArchivedBodies, device_id: str) -> None:
    """Delete a device's bodies, but for those that another device sent too.

    Before its rows, which tell of them: a device whose erasure was cut off is erased once more.
    Raises ``PayloadUnavailableError``.
    """
    rows = session.table(table_name(session, RAW)).where("reference is not null")
    is_own = F.col("device_id").eqNullSafe(device_id)
    alone = rows.where(is_own).join(rows.where(~is_own), "sha256", "left_anti")
    bodies.delete([row.sha256 for row in alone.select("sha256").distinct().collect()])
