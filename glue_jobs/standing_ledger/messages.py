"""Each message of some hours, by id and digest, and what became of it; in the JVM alone."""

from collections.abc import Collection
from dataclasses import dataclass
from typing import Final

from pyspark.sql import Column, DataFrame, Window
from pyspark.sql import functions as F

from fleetlane.events.errors import ParkedReason
from fleetlane.events.metadata import OUTCOMES_BY_RANK, Outcome
from fleetlane.events.times import HOUR_MS
from glue_jobs.engine.hours import hour_of

NEXT_ATTEMPT_MS_MAX: Final = 72 * HOUR_MS
"""Without an archive nobody knows where a diverted message waits; its topic keeps it so long."""

_PLACE: Final = ("topic", "partition", "offset")
WAITING: Final = "waiting"
MISSING: Final = "missing"


@dataclass(frozen=True, slots=True, kw_only=True)
class LakeRows:
    """Rows of the lake's tables whose messages arrived in some hours; ``raw`` where there is one.

    Messages of ``counted_streams`` must have as many events in the lake as their parser gave;
    those of others may have events in common.
    """

    raw: DataFrame | None
    received: DataFrame
    parsed: DataFrame
    parked: DataFrame
    events: DataFrame
    counted_streams: Collection[str]


def judged_messages(lake: LakeRows, positions: DataFrame, *, now_ms: int) -> DataFrame:
    """One row a message: id, sha256, stream, lane, hour_ms, arrival_ms, landings, end, problem.

    One that landed again in a later hour has a row there too, and the same end.
    ``end`` is ``parsed``, ``empty``, ``parked``, ``waiting`` or ``missing``; ``problem`` says why a
    message is missing. ``landings`` counts raw records of first attempts. ``sha256`` is null where
    the archive does not have the record.

    ``positions`` has a row a raw partition, with offsets: its first record ``begins``, its lane has
    ``passed``; and it had passed ``kept``, ``archived`` when all that there was is in the lake, in
    the archive.
    """
    attempted = _with_best_attempts(_known(lake), lake)
    kept = _with_what_is_kept(attempted, lake)
    placed = _with_positions(kept, positions)
    problem = _problem(has_archive=lake.raw is not None, now_ms=now_ms)
    judged = placed.select("*", _missing_part().alias("part"), problem.alias("why"))
    is_whole = F.col("part").isNull() & (F.col("best.outcome") != Outcome.DIVERTED)
    end = (
        F.when(F.col("best").isNull() & F.col("is_foreign").isNotNull(), Outcome.PARKED.value)
        .when(is_whole, F.col("best.outcome"))
        .when(F.col("why").isNull(), WAITING)
        .otherwise(MISSING)
    )
    return judged.select(
        *("id", "sha256", "stream", "lane", "hour_ms", "arrival_ms", "landings"),
        end.alias("end"),
        F.when(end == MISSING, F.coalesce("part", "why")).alias("problem"),
    )


def _known(lake: LakeRows) -> DataFrame:
    """All messages: of the archive, and those that are in ``received`` alone."""
    received = lake.received.select(
        "id",
        F.lit(None).cast("string").alias("sha256"),
        *("stream", "lane"),
        hour_of("received_ms"),
        F.col("received_ms").alias("arrival_ms"),
        F.lit(1).cast("bigint").alias("landings"),
        F.struct(*(F.col(f"source_{name}").alias(name) for name in _PLACE)).alias("latest"),
    )
    if lake.raw is None:
        return received.withColumn("bodies", F.lit(1))
    is_first = F.col("attempt") == 1
    archived = lake.raw.groupBy("id", "sha256", hour_of("arrival_ms")).agg(
        *(
            F.coalesce(F.max(F.when(is_first, F.col(name))), F.max(name)).alias(name)
            for name in ("stream", "lane")
        ),
        F.min("arrival_ms").alias("arrival_ms"),
        F.count_if(is_first).alias("landings"),
        F.max_by(F.struct(*_PLACE), F.struct("attempt", "kafka_ms", "offset")).alias("latest"),
    )
    others = received.join(archived.select("id").distinct(), "id", "left_anti")
    digests = F.size(F.collect_set("sha256").over(Window.partitionBy("id")))
    return archived.unionByName(others).withColumn("bodies", F.greatest(F.lit(1), digests))


def _with_best_attempts(known: DataFrame, lake: LakeRows) -> DataFrame:
    """Add ``best``: the attempt at these bytes that counts, null if there is none.

    An attempt belongs to the bytes of the raw record that it read. Where that is not known, it
    counts for the only body of its id.
    """
    outcomes = F.array(*(F.lit(one.value) for one in OUTCOMES_BY_RANK))
    rank = F.array_position(outcomes, F.col("outcome"))
    place = [F.col(f"source_{name}").alias(name) for name in _PLACE]
    revision = F.coalesce("revision", F.lit(0)).alias("revision")
    order = rank.alias("rank"), revision, "attempt"
    best = F.struct(*order, "outcome", "events", "parser", *_PLACE)
    names = ("id", "outcome", "revision", "attempt", "events", "parser")
    tries = lake.parsed.select(*names, *place)
    if lake.raw is None:
        read = tries.withColumn("read_sha256", F.lit(None).cast("string"))
    else:
        digests = lake.raw.select(*_PLACE, F.col("sha256").alias("read_sha256"))
        read = tries.join(digests, list(_PLACE), "left")
    by_bytes = read.groupBy(F.col("id").alias("attempt_id"), "read_sha256")
    counts = by_bytes.agg(F.max(best).alias("best"))
    is_its = (
        F.col("sha256").isNull()
        | (F.col("read_sha256") == F.col("sha256"))
        | (F.col("read_sha256").isNull() & (F.col("bodies") == 1))
    )
    joined = known.join(counts, (F.col("id") == F.col("attempt_id")) & is_its, "left")
    own = ("stream", "lane", "arrival_ms", "landings", "latest", "bodies")
    return joined.groupBy("id", "sha256", "hour_ms").agg(
        *(F.first(name).alias(name) for name in own), F.max("best").alias("best")
    )


def _with_what_is_kept(attempted: DataFrame, lake: LakeRows) -> DataFrame:
    """Add ``kept_events`` of the attempt's revision, and where its parked copies came from.

    ``newest`` is the last revision kept. ``is_counted``: whether all events must be there; another
    parser's take their place. ``is_foreign``, not null: it was parked because it is no message.
    """
    events = lake.events.select(
        F.col("raw_id").alias("id"),
        F.col("revision").alias("kept_revision"),
        F.col("id").alias("event_id"),
        F.col("parser").alias("kept_by"),
    )
    kept = events.groupBy("id", "kept_revision").agg(
        F.count_distinct("event_id").alias("kept_events"), F.collect_set("kept_by").alias("kept_by")
    )
    parked = lake.parked.groupBy("id", F.col("attempt").alias("parked_attempt"))
    copies = parked.agg(F.collect_set("parked_from").alias("parked_from"))
    foreign = (
        lake.parked.where(F.col("reason") == ParkedReason.BAD_ENVELOPE)
        .select(F.col("parked_from").alias("latest_place"), F.lit(1).alias("is_foreign"))
        .distinct()
    )
    is_by_another = F.exists("kept_by", lambda one: one != F.col("best.parser"))
    is_counted = F.col("stream").isin(sorted(lake.counted_streams))
    return (
        attempted.withColumn("kept_revision", F.col("best.revision"))
        .withColumn("parked_attempt", F.col("best.attempt"))
        .join(kept, ["id", "kept_revision"], "left")
        .join(events.groupBy("id").agg(F.max("kept_revision").alias("newest")), "id", "left")
        .join(copies, ["id", "parked_attempt"], "left")
        .withColumn("latest_place", _place("latest"))
        .join(F.broadcast(foreign), "latest_place", "left")
        .withColumn("is_counted", is_counted & ~F.coalesce(is_by_another, F.lit(False)))  # noqa: FBT003
    )


def _with_positions(messages: DataFrame, positions: DataFrame) -> DataFrame:
    """Add the offsets of the partition of the raw record that decides: as ``at``, and ``offset``.

    It is that of the best attempt if it is final, else the latest that is known.
    """
    is_final = F.col("best.outcome") != Outcome.DIVERTED
    decides = F.when(is_final, F.struct(*(f"best.{name}" for name in _PLACE)))
    at = F.struct("begins", "passed", "kept", "archived").alias("at")
    known = F.broadcast(positions.select("topic", "partition", at))
    return (
        messages.withColumn("decides", F.coalesce(decides, F.col("latest")))
        .withColumn("topic", F.col("decides.topic"))
        .withColumn("partition", F.col("decides.partition"))
        .join(known, ["topic", "partition"], "left")
    )


def _missing_part() -> Column:
    """What the lake lacks of a message with a final outcome; null if nothing."""
    is_parked = F.col("parked_from").isNotNull() & (
        (F.col("bodies") == 1) | F.array_contains("parked_from", _place("best"))
    )
    there, given = F.coalesce("kept_events", F.lit(0)), F.col("best.events")
    lacks = F.col("is_counted") & (there < given)
    return F.when(
        (F.col("best.outcome") == Outcome.PARKED) & ~F.coalesce(is_parked, F.lit(False)),  # noqa: FBT003
        F.lit("parked, but not in the lake"),
    ).when(
        (F.col("best.outcome") == Outcome.PARSED) & lacks,
        F.format_string("parsed to %s events, of which %s are in the lake", given, there),
    )


def _problem(*, has_archive: bool, now_ms: int) -> Column:
    """Why a message without a final outcome in the lake is missing; null while it waits.

    A record that its lane has not read yet waits as long as it is there. One that was read has its
    outcome in the lake, once that has all there was then, unless a later attempt's events came.
    A diverted message whose next record is not known yet is in another topic, soon in the archive.
    """
    offset = F.col("decides.offset")
    is_read = offset < F.coalesce("at.passed", F.lit(0))
    is_gone = ~is_read & (offset < F.coalesce("at.begins", F.lit(0)))
    if has_archive:
        is_looked_for = offset >= F.coalesce("at.archived", F.lit(0))
    else:
        is_looked_for = F.col("arrival_ms") > now_ms - NEXT_ATTEMPT_MS_MAX
    is_diverted = F.coalesce(F.col("best.outcome") == Outcome.DIVERTED, F.lit(False))  # noqa: FBT003
    kept = F.when(F.col("newest") > F.col("best.revision"), 0).otherwise(F.col("at.kept"))
    is_settled = offset < F.coalesce(kept, F.lit(0))
    return F.when(is_gone, F.lit("its record was deleted before its lane read it")).when(
        is_settled & ~(is_diverted & is_looked_for),
        F.when(is_diverted, F.lit("diverted, and in no topic any more")).otherwise(
            F.lit("its lane read it, and nothing came of it")
        ),
    )


def _place(name: str) -> Column:
    """A record's position as ``parked_from`` has it."""
    return F.concat_ws("/", *(F.col(f"{name}.{part}").cast("string") for part in _PLACE))
