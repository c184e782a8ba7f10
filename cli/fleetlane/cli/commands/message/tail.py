"""``fleetlane tail``: a topic's records as they come."""

import contextlib
from itertools import islice
from typing import Annotated

import typer

from fleetlane.cli.options.stage import PlatformOptions
from fleetlane.cli.output.record_text import record_line, record_text
from fleetlane.events.errors import FleetlaneError
from operations.messages.stores import tail as tail_of_topic


class TooFewRecordsError(FleetlaneError):
    """Fewer records came than were asked for."""

    reason = "too_few_records"
    topic: str
    seen: int
    wanted: int
    silence_s: float
    sentence = "{topic}: no record for {silence_s:g} s after {seen} of {wanted} records"


def tail(
    topic: Annotated[
        str, typer.Argument(metavar="TOPIC", help="Such as canonical.thermo, parked or raw.slow.")
    ],
    *,
    from_beginning: Annotated[
        bool, typer.Option("--from-beginning", help="Include existing records.")
    ] = False,
    limit: Annotated[
        int | None, typer.Option(min=1, help="Stop after this many records.", show_default="no end")
    ] = None,
    timeout_s: Annotated[
        float | None,
        typer.Option(min=0, help="Stop after this long without a record.", show_default="never"),
    ] = None,
    as_json: Annotated[
        bool, typer.Option("--json", help="One line of JSON a record, its value whole.")
    ] = False,
    where: PlatformOptions,
) -> None:
    """Print a topic's records as they come, headers and all. Ctrl-C ends it.

    With both --limit and --timeout-s, exit code 1: fewer records came.
    """
    resources = where.platform().resources
    records = tail_of_topic(
        resources.kafka_bootstrap_servers,
        topic,
        from_beginning=from_beginning,
        silence_s_max=timeout_s,
        security=resources.kafka_security,
    )
    seen = 0
    with contextlib.suppress(KeyboardInterrupt), contextlib.closing(records):
        for record in islice(records, limit):
            typer.echo(record_line(record) if as_json else record_text(record) + "\n")
            seen += 1
        if limit is not None and timeout_s is not None and seen < limit:
            raise TooFewRecordsError(topic, seen, limit, timeout_s)
