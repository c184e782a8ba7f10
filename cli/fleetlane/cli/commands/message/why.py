"""``fleetlane why``: one message, from its receipt to its events, or to where it is parked."""

import json
from base64 import b64encode
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Annotated, Final

import typer

from fleetlane.cli.options.selection import BadOptionsError, SinceOption
from fleetlane.cli.options.stage import PlatformOptions
from fleetlane.cli.output.record_text import fields_of
from fleetlane.cli.output.tables import escaped
from fleetlane.cli.output.times import TimeOptions
from fleetlane.cli.output.waiting import counted, number_of
from fleetlane.events.envelope import Message
from fleetlane.events.errors import FleetlaneError
from fleetlane.events.times import DAY_MS, now_ms
from operations.messages.stores import MessageStores
from operations.messages.trace import MessageTrace, message_trace

_HEAD_BYTES: Final = 64
_LINE_BYTES: Final = 16

_LANDED_FIELDS: Final = "attempt slow_tries revision"
_MESSAGE_FIELDS: Final = (
    "device_id device_type firmware via stream lane arrival_millis body_bytes content_type"
    " body_encoding"
)
_ATTEMPT_FIELDS: Final = (
    "attempt revision lane outcome reason put_off parser instead_of events parse_us parsed_ms"
)
_PARKED_FIELDS: Final = "parked_ms reason detail parser attempt revision"


def why(
    wanted_id: Annotated[
        str,
        typer.Argument(
            help="A raw id, from the 202, or the id of an event; its beginning is enough."
        ),
    ],
    *,
    bytes_to: Annotated[
        Path | None,
        typer.Option("--bytes", metavar="FILE", dir_okay=False, help="Write the body to a file."),
    ] = None,
    since: SinceOption = None,
    as_json: Annotated[bool, typer.Option("--json", help="One JSON document.")] = False,
    times: TimeOptions,
    where: PlatformOptions,
) -> None:
    """Show a message's full history: landings, attempts, parsers, events, parking, bytes.

    Without --since the topics are read whole; of a deployed stage, the last day.
    """
    platform = where.platform_with_kafka(writes="--bytes" if bytes_to else None)
    stores = platform.messages

    if since is None and not platform.is_laptop:
        since = now_ms() - DAY_MS  # a stage's topics hold too much to read them all
    with counted("records read") as on_read:
        trace = message_trace(stores.records(on_read), wanted_id, since_ms=since)
    body, problem = _body(trace, stores)
    if as_json:
        typer.echo(trace_json(trace, body))
    else:
        for line in trace_lines(trace, body, problem, times):
            typer.echo(line)
    if bytes_to is not None:
        if problem is not None:
            raise problem
        bytes_to.write_bytes(body or b"")


def _body(trace: MessageTrace, stores: MessageStores) -> tuple[bytes | None, FleetlaneError | None]:
    message = trace.message
    if message is None:
        return None, BadOptionsError("its record has expired, or is older than --since")
    try:
        return stores.payloads.body_of(message), None
    except FleetlaneError as problem:
        return None, problem


def trace_lines(
    trace: MessageTrace, body: bytes | None, problem: FleetlaneError | None, times: TimeOptions
) -> Iterator[str]:
    """One screen for people; ``problem`` is why there is no ``body``."""
    yield f"message {trace.raw_id}"
    if trace.message is not None:
        yield from _about(trace.message, times)
    yield ""
    for at_ms, text in trace.steps():
        yield f"{times.exact(at_ms)}  {escaped(text)}"
    yield ""
    yield f"outcome: {trace.outcome}"
    yield from _event_lines(trace)
    if problem is not None:
        yield f"no bytes: {escaped(str(problem))}"
    elif body is not None:
        yield from _hex_lines(body)


def _about(message: Message, times: TimeOptions) -> Iterator[str]:
    device = " ".join(filter(None, (message.device_type, message.firmware)))
    via = f" via {message.via}" if message.via else ""
    yield escaped(f"device  {message.device_id}{f' ({device})' if device else ''}{via}")
    yield f"stream  {message.stream}, {message.lane} lane"
    key = "" if message.reference is None else f", in the bucket as {message.reference.key}"
    yield escaped(f"body    {number_of(message.body_bytes, 'byte')} of {message.content_type}{key}")
    yield f"arrived {times.exact(message.arrival_millis)}"


def _event_lines(trace: MessageTrace) -> Iterator[str]:
    groups = Counter((event.revision, at.topic, event.parser) for at, event in trace.events)
    newest = max((revision for revision, _, _ in groups), default=0)
    for (revision, topic, parser), count in sorted(groups.items()):
        replaced = "" if revision == newest else f", replaced by revision {newest}"
        yield escaped(f"  {count} in {topic} by {parser}, revision {revision}{replaced}")


def _hex_lines(body: bytes) -> Iterator[str]:
    yield f"bytes: {len(body)}"
    for at in range(0, min(len(body), _HEAD_BYTES), _LINE_BYTES):
        line = body[at : at + _LINE_BYTES]
        text = "".join(
            one if one.isascii() and one.isprintable() else "." for one in line.decode("latin-1")
        )
        yield f"  {at:04x}  {line.hex(' '):<{_LINE_BYTES * 3 - 1}}  {text}"
    if len(body) > _HEAD_BYTES:
        yield f"  … {len(body) - _HEAD_BYTES} more; --bytes FILE writes them all"


def trace_json(trace: MessageTrace, body: bytes | None) -> str:
    """All of it; the body in base64, or null if it is unavailable."""
    message, payload = trace.message, trace.message and trace.message.reference
    facts = {"payload": payload and payload.key}
    return json.dumps(
        {
            "raw_id": trace.raw_id,
            "outcome": trace.outcome,
            "message": message and fields_of(message, _MESSAGE_FIELDS) | facts,
            "landings": [
                fields_of(
                    message, _LANDED_FIELDS, position=str(at.position), written_ms=at.timestamp_ms
                )
                for at, message in trace.landings
            ],
            "received_ms": [one.received_ms for one in trace.received],
            "attempts": [fields_of(one, _ATTEMPT_FIELDS) for one in trace.attempts],
            "parked": [
                fields_of(one, _PARKED_FIELDS, position=str(one.position))
                for one, _ in trace.parked
            ],
            "events": [
                fields_of(event, "revision parser time", id=event.id, position=str(at.position))
                for at, event in trace.events
            ],
            "body": None if body is None else b64encode(body).decode(),
        }
    )
