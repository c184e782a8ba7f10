"""Malformed messages by firmware, and parse times by parser."""

from dataclasses import dataclass
from typing import Final

from operations.fleet.fleet import IN_WINDOW, Fleet

_OUTCOMES: Final = "day >= $since_day"
"""The condition for rows of ``parsed``: their day is the day their message arrived."""

FIRMWARE_SQL: Final = f"""
    with failed as (
        select id, arg_max(reason, attempt) as reason
        from parsed where {_OUTCOMES} and outcome = 'parked' group by id
    ), repaired as (
        select id
        from parsed semi join failed using (id)
        where {_OUTCOMES} and outcome in ('parsed', 'empty')
    ), parked as (
        select id, reason from failed anti join repaired using (id)
    )
    select
        firmware,
        count(*) as messages,
        count(*) filter (parked.reason = 'malformed') as malformed,
        count(parked.id) as parked
    from received left join parked using (id)
    where {IN_WINDOW}
    group by firmware
    order by malformed / messages desc, messages desc, firmware
"""

PARSERS_SQL: Final = """
    select
        parser,
        count(*) as attempts,
        quantile_disc(parse_us, 0.5) as p50_us,
        quantile_disc(parse_us, 0.95) as p95_us,
        quantile_disc(parse_us, 0.99) as p99_us,
        max(parse_us) as max_us
    from parsed
    where day >= $since_day and parsed_ms > $since_ms and parsed_ms <= $asked_at_ms
        and parser is not null and put_off is null
    group by parser order by p95_us desc, parser
"""


@dataclass(frozen=True, slots=True, kw_only=True)
class FirmwareHealth:
    """Messages of one firmware version, as they state it; each by its final outcome."""

    firmware: str | None
    messages: int
    malformed: int
    parked: int

    @property
    def malformed_share(self) -> float:
        return self.malformed / self.messages


@dataclass(frozen=True, slots=True, kw_only=True)
class ParserTime:
    """Microseconds per attempt, of the attempts that ran the parser."""

    parser: str
    attempts: int
    p50_us: int
    p95_us: int
    p99_us: int
    max_us: int


def by_firmware(fleet: Fleet, *, days: int) -> list[FirmwareHealth]:
    """Messages by firmware, and how many are parked; the highest malformed share first.

    A message that a replay repaired is not counted as parked: its best attempt counts. Messages
    that state no firmware are one row, whose firmware is ``None``.
    """
    return fleet.rows(FirmwareHealth, FIRMWARE_SQL, **fleet.window(days))


def parse_times(fleet: Fleet, *, days: int) -> list[ParserTime]:
    """Time per attempt by parser and version; the slowest p95 first.

    Replays of messages that arrived before the window are left out.
    """
    return fleet.rows(ParserTime, PARSERS_SQL, **fleet.window(days))
