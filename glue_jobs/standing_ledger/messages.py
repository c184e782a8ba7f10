"""Each message of some hours, by id and digest, and what became of it; in the JVM alone."""

from collections.abc import Collection
from dataclasses import dataclass
from typing import Final

from pyspark.sql import DataFrame

from fleetlane.events.errors import ParkedReason
from fleetlane.events.lake.queries import queries
from fleetlane.events.metadata import OUTCOMES_BY_RANK
from fleetlane.events.times import HOUR_MS

NEXT_ATTEMPT_MS_MAX: Final = 72 * HOUR_MS
"""Without an archive nobody knows where a diverted message waits; its topic keeps it so long."""

WAITING: Final = "waiting"
MISSING: Final = "missing"
_SQL: Final = queries(
    __package__,
    "messages.sql",
    hour_ms=HOUR_MS,
    outcomes=tuple(map(str, OUTCOMES_BY_RANK)),
    no_message=ParkedReason.BAD_ENVELOPE,
    next_attempt_ms_max=NEXT_ATTEMPT_MS_MAX,
    waiting=WAITING,
    missing=MISSING,
)


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
    ``passed``; and had passed ``kept``, ``archived`` when all was in the lake, in the archive.
    """
    session = lake.received.sparkSession
    return session.sql(
        _SQL["judged"],
        args={
            "now_ms": now_ms,
            "has_archive": lake.raw is not None,
            "counted_streams": sorted(lake.counted_streams),
        },
        raw=session.sql(_SQL["no_archive"]) if lake.raw is None else lake.raw,
        received=lake.received,
        parsed=lake.parsed,
        parked=lake.parked,
        events=lake.events,
        positions=positions,
    )
