"""``fleetlane tail``: a topic's records as they come."""

import contextlib
from itertools import islice
from typing import Annotated, Literal

import typer

from fleetlane.cli.options.stage import PlatformOptions
from fleetlane.cli.output.record_text import origin_of, record_line, record_text, value_line
from fleetlane.cli.output.times import TimeOptions
from fleetlane.events.envelope import Record
from fleetlane.events.errors import FleetlaneError
from operations.messages.stores import tail as tail_of_topic

Form = Literal["text", "json", "value"]
"""How a record is printed. What is printed as JSON, ``parser try --record`` reads."""


class TooFewRecordsError(FleetlaneError):
    """Fewer records came than were asked for."""

    topic: str
    seen: int
    wanted: int
    silence_s: float
    sentence = "{topic}: no record for {silence_s:g} s after {seen} of {wanted} records"


def tail(
    topic: Annotated[str, typer.Argument(help="Such as canonical.thermo, parked or raw.slow.")],
    *,
    from_beginning: Annotated[bool, typer.Option(help="Include existing records.")] = False,
    limit: Annotated[
        int | None, typer.Option(min=1, help="Stop after this many records.", show_default="no end")
    ] = None,
    timeout_s: Annotated[
        float | None,
        typer.Option(min=0, help="Stop after this long without a record.", show_default="never"),
    ] = None,
    device: Annotated[
        str | None, typer.Option(metavar="ID", help="Only records of this device.")
    ] = None,
    stream: Annotated[str | None, typer.Option(help="Only records of this stream.")] = None,
    form: Annotated[
        Form, typer.Option("--format", help="With headers; a line of JSON; or the value alone.")
    ] = "text",
    as_json: Annotated[bool, typer.Option("--json", help="As --format json.")] = False,
    times: TimeOptions,
    where: PlatformOptions,
) -> None:
    """Print a topic's records as they come, headers and all. Ctrl-C ends it.

    With both --limit and --timeout-s, exit code 1: fewer records came.
    """
    resources = where.platform_with_kafka().resources
    records = tail_of_topic(
        resources.kafka_bootstrap_servers,
        topic,
        from_beginning=from_beginning,
        silence_s_max=timeout_s,
        takes=lambda record: _takes(record, device, stream),
        security=resources.kafka_security,
    )
    seen = 0
    with contextlib.suppress(KeyboardInterrupt), contextlib.closing(records):
        for record in islice(records, limit):
            typer.echo(_shown(record, "json" if as_json else form, times))
            seen += 1
        if limit is not None and timeout_s is not None and seen < limit:
            raise TooFewRecordsError(topic, seen, limit, timeout_s)


def _takes(record: Record, device: str | None, stream: str | None) -> bool:
    if device is None and stream is None:
        return True
    of_device, of_stream = origin_of(record)
    return device in (None, of_device) and stream in (None, of_stream)


def _shown(record: Record, form: Form, times: TimeOptions) -> str:
    if form == "text":
        return record_text(record, times) + "\n"
    return record_line(record) if form == "json" else value_line(record)
