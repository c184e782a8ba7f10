"""``fleetlane replay`` and ``parked replay``: messages once more, by a range of time or by id."""

import json
from typing import Annotated, Any, Final

import typer

from fleetlane.cli.commands.parked import Ids, NotParkedError, ParkedOptions
from fleetlane.cli.options.selection import BadOptionsError, DryRunOption, LimitOption, moment
from fleetlane.cli.options.stage import PlatformOptions
from fleetlane.cli.output.waiting import counted, effect_on_interrupt
from fleetlane.events.errors import FleetlaneError
from fleetlane.events.names import checked_name
from fleetlane.events.times import rfc3339
from operations.messages.stores import MessageStores, RecordStore
from operations.platform import Platform
from operations.replay import landing
from operations.replay.landing import REPLAYED_MAX, PayloadsExpiredError, ReplayPlan
from operations.replay.plans import ArrivalRange, parked_plan, raw_plan


class RecordsExpiredError(FleetlaneError):
    """Records that were found were gone before they could be read again."""

    planned: int
    landed: int
    sentence = "found: {planned}, replayed: {landed}; the records of the others have expired"


def carry_out(
    plan: ReplayPlan,
    stores: MessageStores,
    *,
    dry_run: bool,
    as_json: bool,
    records: RecordStore | None = None,
) -> None:
    """Replay what is planned, unless it is a dry run, and print the result.

    It is read again from ``records``, which are Kafka's if they are not given. Raises
    ``PayloadsExpiredError`` or ``RecordsExpiredError`` where all others were replayed, and
    ``NotDurableError`` where Kafka did not take one; doing it again is safe. Where both have
    expired, that of the records is only printed.
    """
    landed = None if dry_run else _landed(plan, stores, records or stores.records())
    text = "\n".join(landing.result_lines(plan, landed))
    typer.echo(_json(plan, landed or 0) if as_json else text)
    if landed is not None and landed < len(plan.attempts):
        gone = RecordsExpiredError(len(plan.attempts), landed)
        if not plan.expired:
            raise gone
        typer.echo(f"error: {gone}", err=True)
    if plan.expired:
        raise PayloadsExpiredError(plan.expired)


def _landed(plan: ReplayPlan, stores: MessageStores, records: RecordStore) -> int:
    """Replay what is planned; on Ctrl-C, or where it fails, say how far that came."""
    landed = 0

    def count(so_far: int) -> None:
        nonlocal landed
        landed = so_far
        on_landed(so_far)

    def effect() -> str:
        return landing.progress(plan, landed)

    with effect_on_interrupt(effect), counted("replayed") as on_landed:
        try:
            return landing.replay(plan, records, stores.producer(), on_landed=count)
        except FleetlaneError:
            typer.echo(effect(), err=True)
            raise


def _json(plan: ReplayPlan, landed: int) -> str:
    return json.dumps(
        {
            "planned": len(plan.attempts),
            "replayed": landed,
            "revisions": sorted({one.revision for one in plan.attempts.values()}),
            "parsed_since": plan.parsed,
            "expired": plan.expired,
            "no_messages": plan.unreadable,
        }
    )


_ARCHIVE: Final = "archive"


def replay(
    *,
    flow: Annotated[str, typer.Option(metavar="STREAM", help="The stream.")],
    from_: Annotated[
        list[Any],
        typer.Option(
            "--from",
            metavar="WHEN",
            parser=lambda text: text if text == _ARCHIVE else moment(text),
            help="2026-11-03T14:05:00Z, or 12h for 12 hours ago. Once more as"
            " `--from archive`: out of the raw archive, where the topics are gone.",
        ),
    ],
    to_ms: Annotated[
        int, typer.Option("--to", metavar="WHEN", parser=moment, help="The end, itself excluded.")
    ],
    dry_run: DryRunOption = False,
    limit: LimitOption = REPLAYED_MAX,
    as_json: Annotated[bool, typer.Option("--json", help="One JSON document.")] = False,
    where: PlatformOptions,
) -> None:
    """Parse a stream's messages of a time range again, with the parser in force now.

    Messages go through the bulk lane. Their events have the next revision, and replace the earlier
    ones. Exit code 1: some could not be replayed.
    """
    wanted = _range(checked_name(flow, kind="stream"), from_, to_ms)
    platform = where.platform_with_kafka()
    platform.publisher.check_stream(wanted.stream)
    if _ARCHIVE in from_:
        _replay_archived(platform, wanted, limit=limit, dry_run=dry_run, as_json=as_json)
        return
    stores = platform.messages
    with counted("records read") as on_read:
        plan = raw_plan(stores.records(on_read), stores.payloads, wanted, messages_max=limit)
    carry_out(plan, stores, dry_run=dry_run, as_json=as_json)


def _range(stream: str, from_: list[Any], to_ms: int) -> ArrivalRange:
    moments = [one for one in from_ if one != _ARCHIVE]
    if len(moments) != 1:
        raise BadOptionsError("give --from WHEN once, with or without --from archive beside it")
    if to_ms <= (from_ms := moments[0]):
        problem = f"--to is {rfc3339(to_ms)}; it must be after --from, {rfc3339(from_ms)}"
        raise BadOptionsError(problem)
    return ArrivalRange(stream=stream, from_ms=from_ms, to_ms=to_ms)


def _replay_archived(
    platform: Platform, wanted: ArrivalRange, *, limit: int, dry_run: bool, as_json: bool
) -> None:
    from operations.lake import lake_of  # noqa: PLC0415 - takes longer than other replays
    from operations.replay import archive  # noqa: PLC0415 - likewise

    stores = platform.messages
    payloads = archive.ArchivedPayloads(stored=stores.payloads, archived=stores.archived_bodies)
    with lake_of(platform) as catalog:
        records = archive.ArchivedRecords.of(catalog, wanted)
        with counted("records read") as on_read:
            later = stores.records(on_read)
            plan = archive.archive_plan(records, payloads, messages_max=limit, later=later)
        if not dry_run:
            plan = payloads.brought_back(plan, payload_bucket=platform.resources.payload_bucket)
        carry_out(plan, stores, dry_run=dry_run, as_json=as_json, records=records)


def replay_parked(
    ids: Ids = None,
    *,
    chosen: ParkedOptions,
    again: Annotated[
        bool, typer.Option(help="Include messages parsed since: their events are replaced.")
    ] = False,
    dry_run: DryRunOption = False,
    limit: LimitOption = REPLAYED_MAX,
    as_json: Annotated[bool, typer.Option("--json", help="One JSON document.")] = False,
    where: PlatformOptions,
) -> None:
    """Send parked messages through the bulk lane, to the parser that is in force now.

    Ids stay the same, so replaying twice duplicates no event. Messages also stay parked. Exit
    code 1: some could not be replayed.
    """
    platform, wanted = where.platform_with_kafka(), chosen.filter(ids)
    if wanted.stream is not None:
        platform.publisher.check_stream(wanted.stream)
    stores = platform.messages
    with counted("records read") as on_read:
        records, stored = stores.records(on_read), stores.payloads
        plan = parked_plan(records, stored, wanted, includes_parsed=again, messages_max=limit)
    if plan.unknown:
        raise NotParkedError(", ".join(plan.unknown))
    carry_out(plan, stores, dry_run=dry_run, as_json=as_json)
