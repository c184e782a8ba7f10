"""``fleetlane parked list|show|export``: what is parked, why, and as files."""

import json
from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Final

import typer

from clients.s3.payload_bucket import PayloadCorruptError, PayloadMissingError
from fleetlane.cli.options.selection import BadOptionsError, LimitOption, SinceOption, UntilOption
from fleetlane.cli.options.stage import PlatformOptions
from fleetlane.cli.output.record_text import fields_of, record_line, record_text
from fleetlane.cli.output.tables import table_lines
from fleetlane.cli.output.times import EXACT, TimeOptions
from fleetlane.cli.output.waiting import counted
from fleetlane.events.envelope import Record
from fleetlane.events.errors import FleetlaneError, ParkedReason
from fleetlane.events.names import checked_name
from fleetlane.events.record_json import record_json
from fleetlane.events.times import now_ms
from fleetlane.events.topics import PARKED
from operations.messages.parked import ParkedFilter, ParkedMessage, newest_parked, parked_message
from operations.messages.stores import MessageStores, StoredPayloads, records_at
from operations.replay.landing import PayloadsExpiredError, TooManyMessagesError
from operations.replay.plans import read_since

Ids = Annotated[
    list[str] | None,
    typer.Argument(
        metavar="[ID]...", help="Raw ids or their beginnings; all messages if none is given."
    ),
]


@dataclass(frozen=True, slots=True, kw_only=True)
class ParkedOptions:
    """What parked messages have in common."""

    flow: Annotated[str | None, typer.Option(metavar="STREAM", help="Only of this stream.")] = None
    reason: Annotated[
        ParkedReason | None, typer.Option(help="Only messages parked for this reason.")
    ] = None
    parser: Annotated[
        str | None, typer.Option(metavar="NAME", help="Only of this parser: tank, or tank==1.0.0.")
    ] = None
    since: SinceOption = None
    until: UntilOption = None

    def filter(self, ids: list[str] | None) -> ParkedFilter:
        """Raises ``BadNameError`` where a stream has no such name."""
        return ParkedFilter(
            stream=None if self.flow is None else checked_name(self.flow, kind="stream"),
            reason=self.reason,
            parser=self.parser and self.parser.replace("==", "@"),
            since_ms=self.since,
            until_ms=self.until,
            ids=frozenset(ids or ()),
        )


_FIELDS: Final = (
    "stream device_id reason detail parser parked_ms parked_from body_bytes attempt revision"
)
_GROUPS: Final = ("messages", "stream", "reason", "parser", "newest", "its detail")
_NEWEST: Final = ("id", "parked", "device", "stream", "reason", "parser", "detail")


class NotParkedError(FleetlaneError):
    """Messages that were named are not in ``parked``, or not as they are wanted."""

    ids: str
    sentence = "not parked: {ids}"


def list_parked(
    ids: Ids = None,
    *,
    chosen: ParkedOptions,
    newest: Annotated[int, typer.Option(min=0, help="How many to show one by one.")] = 10,
    as_json: Annotated[
        bool, typer.Option("--json", help="All messages, one JSON object a line.")
    ] = False,
    times: TimeOptions,
    where: PlatformOptions,
) -> None:
    """Count parked messages by stream, reason and parser, and show the newest.

    A message that was parked again counts once, as parked last. Messages that were parsed since
    stay in the list: parked bytes are kept for ever.
    """
    stores = where.platform_with_kafka().messages
    found = found_parked(stores, chosen.filter(ids))
    documents = (json.dumps(fields_of(one, _FIELDS, id=one.identity)) for one in found)
    for line in documents if as_json else report(found, newest, times):
        typer.echo(line)


def show(
    ids: Annotated[list[str], typer.Argument(metavar="ID...", help="Raw ids or their beginnings.")],
    *,
    as_json: Annotated[bool, typer.Option("--json", help="A line of JSON each.")] = False,
    times: TimeOptions,
    where: PlatformOptions,
) -> None:
    """Print parked records whole: headers, reason and bytes."""
    stores = where.platform_with_kafka().messages
    found = found_parked(stores, ParkedOptions().filter(ids))
    for record in parked_records(stores, found):
        typer.echo(record_line(record) if as_json else record_text(record, times) + "\n")
    _check_all_found(ids, found)


def _check_all_found(ids: Iterable[str], found: Sequence[ParkedMessage]) -> None:
    """Raise ``NotParkedError`` where one of these ids is of no message; after all others."""
    missing = {given for given in ids if not any(one.identity.startswith(given) for one in found)}
    if missing:
        raise NotParkedError(", ".join(sorted(missing)))


def found_parked(stores: MessageStores, wanted: ParkedFilter) -> list[ParkedMessage]:
    """The newest record of each wanted message, the oldest first."""
    with counted("records read") as on_read:
        records = stores.records(on_read).matching(PARKED, since_ms=read_since(wanted.since_ms))
        return newest_parked(records, wanted)


def parked_records(stores: MessageStores, found: Sequence[ParkedMessage]) -> Iterator[Record]:
    with counted("records read") as on_read:
        yield from records_at(stores.records(on_read), PARKED, [one.position for one in found])


def report(
    found: Sequence[ParkedMessage], newest: int, times: TimeOptions = EXACT
) -> Iterator[str]:
    """Lines for people: messages that have a cause in common, and the newest one by one."""
    if not found:
        yield "No message is parked that fits."
        return
    at_ms, groups = now_ms(), defaultdict[tuple[str, str, str], list[ParkedMessage]](list)
    for one in found:
        groups[one.stream or "-", one.reason, one.parser or "-"].append(one)
    ordered = sorted(groups.items(), key=lambda item: -len(item[1]))
    rows = [
        (str(len(group)), *key, times.ago(group[-1].parked_ms, at_ms), group[-1].detail)
        for key, group in ordered
    ]
    yield from table_lines(_GROUPS, rows, right=_GROUPS[:1])
    if newest:
        shown = [_row(one, times, at_ms) for one in reversed(found[-newest:])]
        yield from ("", *table_lines(_NEWEST, shown))


def _row(one: ParkedMessage, times: TimeOptions, at_ms: int) -> tuple[str, ...]:
    parked, names = times.ago(one.parked_ms, at_ms), (one.device_id, one.stream)
    what = (one.reason, one.parser or "-", one.detail)
    return one.identity, parked, *(name or "-" for name in names), *what


def export(
    folder: Annotated[
        Path | None,
        typer.Argument(metavar="[FOLDER]", file_okay=False, help="Gets one file a message."),
    ] = None,
    *,
    as_sample: Annotated[
        Path | None,
        typer.Option(
            metavar="PARSER_FOLDER",
            exists=True,
            file_okay=False,
            help="Instead: into samples/STREAM/ of a parser's folder.",
        ),
    ] = None,
    ids: Annotated[
        list[str] | None, typer.Option("--id", metavar="ID", help="Only these; may be repeated.")
    ] = None,
    chosen: ParkedOptions,
    limit: LimitOption = 1_000,
    where: PlatformOptions,
) -> None:
    """Write parked messages to files, whole, for `parser try FILE --record` and `parser test`.

    Files include large bodies, fetched from S3. Existing files are overwritten.
    """
    if (folder is None) is (as_sample is None):
        raise BadOptionsError("Give exactly one: FOLDER or --as-sample PARSER_FOLDER")
    stores = where.platform_with_kafka(writes="parked export").messages

    found = wanted = found_parked(stores, chosen.filter(ids))
    root = folder
    if as_sample is not None:
        wanted, root = [one for one in found if one.is_message], as_sample / "samples"
    if len(wanted) > limit:
        raise TooManyMessagesError(len(wanted), limit)
    assert root is not None, "one of the two was given"
    records = parked_records(stores, wanted)
    for path in exported(records, stores.payloads, root, by_stream=as_sample is not None):
        typer.echo(path)
    _check_all_found(ids or (), found)


def exported(
    records: Iterable[Record], payloads: StoredPayloads, folder: Path, *, by_stream: bool
) -> Iterator[Path]:
    """Write each record to its file; raises ``PayloadsExpiredError`` after all others."""
    expired = list[str]()
    for record in records:
        parked = parked_message(record)
        try:
            whole = record_json(payloads.self_contained(record))
        except (PayloadMissingError, PayloadCorruptError):
            expired.append(parked.identity)
            continue
        inner = parked.stream if by_stream else None
        path = folder / (inner or "") / f"{parked.identity.replace('/', '-')}.record.json"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(whole + "\n")
        yield path
    if expired:
        raise PayloadsExpiredError(tuple(expired))
