"""What people see of the standing ledger."""

from collections.abc import Callable
from typing import Final

from operations.ledger.standing import LedgerHour, MissingMessage
from operations.report.tables import Table
from operations.report.wording import moment_short, number


def _count(name: str) -> Callable[[LedgerHour], str]:
    return lambda row: number(getattr(row, name))


LEDGER: Final = Table(
    name="ledger",
    title="Ledger by hour of arrival",
    row=LedgerHour,
    columns={
        "hour (UTC)": lambda row: moment_short(row.hour_ms),
        "stream": lambda row: row.stream,
        "lane": lambda row: row.lane,
        "accepted": lambda row: number(row.accepted),
        **{
            name: _count(name)
            for name in ("landed", "parsed", "empty", "parked", "duplicate", "waiting", "missing")
        },
        "not landed": lambda row: number(row.not_landed),
        "settled": lambda row: "yes" if row.is_settled else "no",
    },
    text_columns=3,
)
MISSING_MESSAGES: Final = Table(
    name="missing_messages",
    title="Missing messages",
    row=MissingMessage,
    columns={
        "id": lambda row: row.id,
        "hour (UTC)": lambda row: moment_short(row.hour_ms),
        "stream": lambda row: row.stream,
        "lane": lambda row: row.lane,
        "problem": lambda row: row.problem,
    },
    text_columns=5,
)
