"""Rows of the ledger: what was accepted in an hour, what landed, and what came of it."""

from collections import Counter, defaultdict
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from copy import replace
from dataclasses import asdict, dataclass
from functools import partial
from typing import Any, Final

from pyspark.sql import DataFrame, Window
from pyspark.sql import functions as F

from clients.accepted_counts import AcceptedMinute
from fleetlane.events.lake.tables import LEDGER
from fleetlane.events.lanes import Lane
from fleetlane.events.metadata import Alert, AlertKind, Outcome
from fleetlane.events.metrics import NO_FLOW_STREAM
from fleetlane.events.times import HOUR_MS, day_of
from glue_jobs.standing_ledger.messages import MISSING, WAITING

NAMED_MAX: Final = 100
"""So many missing messages are named of one hour, stream and lane; all are counted."""

_ENDS: Final = (Outcome.PARSED.value, Outcome.EMPTY.value, Outcome.PARKED.value, WAITING, MISSING)


@dataclass(frozen=True, slots=True, kw_only=True)
class MissingMessage:
    """``sha256`` is ``None`` where the archive does not have the record."""

    id: str
    sha256: str | None
    problem: str


@dataclass(frozen=True, slots=True, kw_only=True)
class LedgerHour:
    """Messages of one hour, stream and lane. ``landed_before`` arrived before the count's end.

    ``balanced`` adds what was ``accepted``, if that is known: of it, ``under_way`` has not landed
    yet, and may wait in the spool; ``not_landed`` should have.
    """

    hour_ms: int
    stream: str
    lane: str
    landed: int = 0
    landed_before: int = 0
    duplicate: int = 0
    parsed: int = 0
    empty: int = 0
    parked: int = 0
    waiting: int = 0
    missing: int = 0
    missing_messages: tuple[MissingMessage, ...] = ()
    accepted: int | None = None
    under_way: int = 0
    not_landed: int = 0

    @property
    def key(self) -> tuple[int, str, str]:
        return self.hour_ms, self.stream, self.lane

    @property
    def is_settled(self) -> bool:
        """Whether nothing of it waits any more."""
        return self.waiting + self.under_way == 0

    def record(self, *, is_over: bool, checked_ms: int) -> dict[str, object]:
        """The row of the table, by its columns; it is settled only if its hour is over."""
        facts = asdict(self) | {
            "day": day_of(self.hour_ms),
            WAITING: self.waiting + self.under_way,
            "is_settled": is_over and self.is_settled,
            "checked_ms": checked_ms,
        }
        return {name: facts[name] for name in LEDGER.column_names}


def landed_hours(judged: DataFrame, *, counted_until_ms: int) -> list[LedgerHour]:
    """Count messages, as ``judged_messages`` gives them, and name the first missing ones."""
    group = ("hour_ms", "stream", "lane")
    landings = F.greatest("landings", F.lit(1))
    is_before = F.col("arrival_ms") < counted_until_ms
    counted = judged.groupBy(*group).agg(
        F.sum(landings).alias("landed"),
        F.sum(F.when(is_before, landings).otherwise(0)).alias("landed_before"),
        F.sum(landings - 1).alias("duplicate"),
        *(F.count_if(F.col("end") == end).alias(end) for end in _ENDS),
    )
    place = F.row_number().over(Window.partitionBy(*group).orderBy("arrival_ms", "id"))
    missing = judged.where(F.col("end") == MISSING).withColumn("place", place)
    messages = defaultdict[tuple[Any, ...], list[MissingMessage]](list)
    for row in missing.where(f"place <= {NAMED_MAX}").collect():
        one = MissingMessage(id=row.id, sha256=row.sha256, problem=row.problem)
        messages[row.hour_ms, row.stream, row.lane].append(one)
    return [
        LedgerHour(
            **row.asDict(), missing_messages=tuple(messages[row.hour_ms, row.stream, row.lane])
        )
        for row in counted.collect()
    ]


@dataclass(frozen=True, slots=True, kw_only=True)
class Counted:
    """What ingest counted.

    Minutes that began before ``until_ms`` are complete, and what of them landed is in the archive.
    Without a time nothing is compared: without an archive, repeats look like losses. If it
    ``is_spooled``, some of it may still wait in the spool. Unless it ``is_whole``, it is only what
    the ledger itself knows of old hours.
    """

    by_minute: Mapping[AcceptedMinute, int]
    until_ms: int | None
    is_spooled: bool = False
    is_whole: bool = True


type _Key = tuple[int, str, str]


def balanced(
    landed: Sequence[LedgerHour], counted: Counted, *, hours: Collection[int]
) -> list[LedgerHour]:
    """Hold what landed in these hours against what ingest counted, where that is known.

    Ingest counts streams without a flow as one, and so what landed before a stream had its flow.
    """
    until_ms = counted.until_ms
    accepted, complete = defaultdict[_Key, int](int), defaultdict[_Key, int](int)
    for minute, count in counted.by_minute.items():
        hour_ms = minute.minute_ms - minute.minute_ms % HOUR_MS
        if hour_ms in hours:
            key = (hour_ms, minute.stream, str(minute.lane))
            accepted[key] += count
            complete[key] += count if minute.minute_ms < (until_ms or 0) else 0
    there = {one.key: one for one in landed}
    short = _short_of(accepted, {key: one.landed for key, one in there.items()})
    lost = _short_of(complete, {key: one.landed_before for key, one in there.items()})
    rows = []
    for key in sorted({*there, *accepted}):
        is_compared = until_ms is not None and key in accepted
        not_landed = lost[key] if is_compared and not counted.is_spooled else 0
        empty = LedgerHour(hour_ms=key[0], stream=key[1], lane=key[2])
        rows.append(
            replace(
                there.get(key, empty),
                accepted=accepted.get(key),
                under_way=max(0, short[key] - not_landed) if is_compared else 0,
                not_landed=not_landed,
            )
        )
    return rows


def _short_of(accepted: Mapping[_Key, int], landed: Mapping[_Key, int]) -> dict[_Key, int]:
    """How many more were accepted than landed.

    What landed beyond a lane's count covers that stream's other lanes in the hour: a message that
    was sent again in another lane counts twice in one. It also covers what had no flow yet.
    """
    spare, of_none = Counter[tuple[int, str]](), Counter[_Key]()
    for (hour_ms, stream, lane), count in landed.items():
        more = max(0, count - accepted.get((hour_ms, stream, lane), 0))
        spare[hour_ms, stream] += more
        of_none[hour_ms, NO_FLOW_STREAM, lane] += more
    short = {}
    for key, count in sorted(accepted.items()):
        missing = max(0, count - landed.get(key, 0) - of_none[key])
        for place in (key[:2], (key[0], NO_FLOW_STREAM)):  # its flow may be withdrawn by now
            covered = min(missing, spare[place])
            spare[place] -= covered
            missing -= covered
        short[key] = missing
    return short


def alerts_of(hours: Iterable[LedgerHour], *, now_ms: int) -> Iterator[Alert]:
    """An alert for each missing message that is named, and for each number that did not land."""
    for hour in hours:
        hour_ms, stream, lane = hour.key
        alert = partial(
            Alert,
            at_ms=now_ms,
            stream=stream,
            from_ms=hour_ms,
            window_s=HOUR_MS // 1_000,
            lane=Lane(lane) if lane in Lane else None,
        )
        for one in hour.missing_messages:
            kind = AlertKind.MESSAGE_MISSING
            its_id = f"{kind}/{one.id}/{one.sha256 or ''}"
            yield alert(id=its_id, kind=kind, raw_id=one.id, sha256=one.sha256, problem=one.problem)
        if hour.not_landed:
            kind = AlertKind.NOT_LANDED
            its_id = f"{kind}/{stream}/{lane}/{hour_ms}"
            yield alert(id=its_id, kind=kind, messages=hour.not_landed)
