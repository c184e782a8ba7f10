"""``fleetlane parked export``: parked messages as files, or as samples for their parser."""

from pathlib import Path
from typing import Annotated, Final

import typer

from fleetlane.cli.commands.parked.list_and_show import ParkedOptions, found_parked, parked_records
from fleetlane.cli.options.selection import BadOptionsError, LimitOption
from fleetlane.cli.options.stage import PlatformOptions
from fleetlane.events.record_json import record_json
from operations.messages.parked import ParkedMessage, parked_message
from operations.replay.landing import TooManyMessagesError

_EXPORTED_MAX: Final = 1_000


SampleOption = Annotated[
    Path | None,
    typer.Option(
        metavar="PARSER_FOLDER",
        exists=True,
        file_okay=False,
        help="Instead: into samples/STREAM/ of a parser's folder.",
    ),
]


def export(
    folder: Annotated[
        Path | None,
        typer.Argument(metavar="[FOLDER]", file_okay=False, help="Gets one file a message."),
    ] = None,
    *,
    as_sample: SampleOption = None,
    ids: Annotated[
        list[str] | None, typer.Option("--id", metavar="ID", help="Only these; may be repeated.")
    ] = None,
    chosen: ParkedOptions,
    limit: LimitOption = _EXPORTED_MAX,
    where: PlatformOptions,
) -> None:
    """Write parked messages to files, whole, for `parser try FILE --record` and `parser test`.

    Files include large bodies, fetched from S3. Existing files are overwritten.
    """
    if (folder is None) is (as_sample is None):
        raise BadOptionsError("Give exactly one: FOLDER or --as-sample PARSER_FOLDER")
    stores = where.platform().messages

    found = found_parked(stores, chosen.filter(ids))
    if as_sample is not None:
        found = [one for one in found if one.is_message]
    if len(found) > limit:
        raise TooManyMessagesError(len(found), limit)
    for record in parked_records(stores, found):
        path = _path_of(parked_message(record), folder, as_sample)
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(record_json(stores.payloads.self_contained(record)) + "\n")
        typer.echo(path)


def _path_of(parked: ParkedMessage, folder: Path | None, parser_folder: Path | None) -> Path:
    name = f"{parked.identity.replace('/', '-')}.record.json"
    if parser_folder is None:
        assert folder is not None, "one of the two was given"
        return folder / name
    samples = parser_folder / "samples"
    return (samples if parked.stream is None else samples / parked.stream) / name
