"""``fleetlane lake``: a stream's newest events by its flow's schema; upkeep by the tables' job."""

import json
import time
from contextlib import closing
from datetime import UTC, date, datetime
from itertools import chain
from typing import Annotated, Final, Literal
from uuid import uuid4

import typer

from clients.lake.view_sql import Engine, create_view
from clients.s3.upkeep_requests import Upkeep, UpkeepRequest
from fleetlane.cli.options.selection import BadOptionsError, DaysOption
from fleetlane.cli.options.stage import PlatformOptions
from fleetlane.cli.output.fleet_tables import FormatOptions, write_csv
from fleetlane.cli.output.tables import print_table
from fleetlane.cli.output.times import TimeOptions
from fleetlane.events.errors import FleetlaneError
from fleetlane.events.lake.tables import EVENTS
from fleetlane.events.lake.views import DataColumn, Kind, LakeView, OwnColumn, view_of
from fleetlane.events.names import is_raw_id
from fleetlane.events.times import DAY_MS, day_of, millis_from_rfc3339, now_ms
from operations.fleet.fleet import connection_to, rows_of
from operations.lake import ViewRows, message_rows, newest_of, questioned_lake
from operations.platform import Platform

_OWN_SHOWN: Final = ("arrived_at", "device_id", "event_at")
"""What a person sees of the columns that every view has."""


class NoViewError(FleetlaneError):
    """A stream has no flow in force, or its flow no schema."""

    stream: str
    problem: str
    sentence = "stream {stream} {problem}: it has no view; see docs/flows.md"


def view(
    stream: Annotated[str, typer.Argument(metavar="STREAM", help="Whose flow has a schema.")],
    *,
    limit: Annotated[int, typer.Option(min=1, max=10_000, help="How many events.")] = 20,
    days: DaysOption = 7,
    formats: FormatOptions,
    sql: Annotated[
        Literal["athena", "duckdb"] | None,
        typer.Option(help="Print the SQL that creates the view, and exit."),
    ] = None,
    where: PlatformOptions,
) -> None:
    """Show the newest events of a stream, typed by its flow's schema.

    A value that does not fit its column's type is left out; ``data`` in the table has it.
    """
    platform = where.platform()
    flow = platform.publisher.flows.current().by_stream.get(stream)
    if flow is None:
        raise NoViewError(stream, "has no flow in force")
    described = view_of(flow)
    if described is None:
        raise NoViewError(stream, "declares no schema")
    if sql is not None:
        typer.echo(create_view(described, Engine(sql), platform.resources.lake_database))
        return
    asked_at_ms = now_ms()
    since = day_of(asked_at_ms - days * DAY_MS)
    with questioned_lake(platform) as lake, closing(connection_to(lake)) as connection:
        events = rows_of(lake, EVENTS, since=since, where=f"stream = '{stream}'")
        connection.execute(f"create view stored_events as from {events}")
        found = newest_of(connection, described, since=since, rows_max=limit)
    _show_rows(described, found, formats, asked_at_ms=asked_at_ms)


def rows(
    wanted_id: Annotated[
        str, typer.Argument(metavar="ID", help="A raw id, from the 202, or the id of an event.")
    ],
    *,
    days: DaysOption = 30,
    formats: FormatOptions,
    where: PlatformOptions,
) -> None:
    """Show which tables have rows of a message, of which days and revision."""
    raw_id = wanted_id if is_raw_id(wanted_id) else wanted_id.rpartition("-")[0]
    if not is_raw_id(raw_id):
        raise BadOptionsError(f"{wanted_id!r} is no whole id of a message or an event")
    asked_at_ms = now_ms()
    found = message_rows(where.platform(), raw_id, asked_at_ms=asked_at_ms, days=days)
    formats.show(found, asked_at_ms=asked_at_ms)


def _show_rows(view: LakeView, rows: ViewRows, formats: FormatOptions, *, asked_at_ms: int) -> None:
    names = [column.name for column in view.columns]
    records = [dict(zip(names, map(_plain, row), strict=True)) for row in rows]
    if formats.as_json:
        typer.echo(json.dumps({"asked_at_ms": asked_at_ms, view.stream: records}))
    elif formats.as_csv:
        write_csv(names, records)
    else:
        _print_table(view, records, formats, asked_at_ms)


def _plain(value: object) -> object:
    if isinstance(value, datetime):
        return value.replace(tzinfo=UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")
    return value.isoformat() if isinstance(value, date) else value


def _print_table(
    view: LakeView, records: list[dict[str, object]], times: TimeOptions, now_ms: int
) -> None:
    own = {column.name: column for column in view.own}
    columns: list[OwnColumn | DataColumn] = [*(own[name] for name in _OWN_SHOWN), *view.data]

    def shown(column: OwnColumn | DataColumn, value: object) -> str:
        at_ms = millis_from_rfc3339(str(value)) if column.kind is Kind.TIME else None
        if at_ms is None:
            return "" if value is None else str(value)
        is_arrival = column.name == _OWN_SHOWN[0]
        return times.ago(at_ms, now_ms) if is_arrival else times.exact(at_ms, "seconds")

    print_table(
        [column.name for column in columns],
        [[shown(one, record[one.name]) for one in columns] for record in records],
        right=[column.name for column in columns if column.kind in (Kind.INTEGER, Kind.NUMBER)],
        title=f"{view.stream}, by arrival, the newest first",
        empty=f"{view.stream} has no events in these days: --days goes further back.",
    )


_POLL_INTERVAL_S = 0.5

PatienceOption = Annotated[
    int,
    typer.Option("--wait", metavar="SECONDS", min=0, help="How long to wait for the job's answer."),
]


class NoAnswerError(FleetlaneError):
    """The job that writes the tables does not answer: it does not run, or is busy."""

    tables: str
    waited_s: int
    sentence = "the lake job's {tables} gave no answer in {waited_s} s; the request stays queued"


class UpkeepFailedError(FleetlaneError):
    """The job tried, and could not, or was not asked. Some tables may be done already."""

    tables: str
    problem: str
    sentence = "the lake job's {tables}: {problem}"


def compact(*, wait: PatienceOption = 600, where: PlatformOptions) -> None:
    """Join small files, and remove duplicates."""
    ask_lake(where.platform(), Upkeep.COMPACT, wait_s=wait)


def expire(*, wait: PatienceOption = 600, where: PlatformOptions) -> None:
    """Delete table snapshots that are five days old or older."""
    ask_lake(where.platform(), Upkeep.EXPIRE, wait_s=wait)


def ask_lake(
    platform: Platform, upkeep: Upkeep, *, wait_s: int, device_id: str | None = None
) -> None:
    """Ask the job's writers for upkeep, wait for their answers, and print what they did.

    Raises ``NoAnswerError`` if none came in time, ``UpkeepFailedError`` if one of them could not.
    """
    request = UpkeepRequest(request_id=str(uuid4()), upkeep=upkeep, device_id=device_id)
    writers = platform.upkeep_requests
    waiting = (writer.waiting() or request for writer in writers.values())
    asked = (writer.ask(request) for writer in writers.values())  # unless another is faster
    before = next((one for one in chain(waiting, asked) if one != request), None)
    if before is not None:
        problem = f"the {before.upkeep} asked for before is not done yet; ask again after it"
        raise UpkeepFailedError(" and ".join(writers), problem)
    until_s = time.monotonic() + wait_s
    for tables, writer in writers.items():
        while (answer := writer.answer_to(request.request_id)) is None:
            if time.monotonic() >= until_s:
                raise NoAnswerError(tables, wait_s)
            time.sleep(_POLL_INTERVAL_S)
        if answer.problem is not None:
            raise UpkeepFailedError(tables, answer.problem)
        for table, done in answer.done.items():
            typer.echo(f"{table}: {done}")
