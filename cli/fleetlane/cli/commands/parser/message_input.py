"""Messages from files: bytes, hexadecimal text, or exported records.

Each function raises ``BadInputError`` where a file holds something else.
"""

from collections.abc import Iterable, Iterator
from contextlib import suppress
from pathlib import Path
from typing import BinaryIO

from fleetlane.events.envelope import Record
from fleetlane.events.errors import FleetlaneError
from fleetlane.events.record_json import ExportedRecord, record_from_json
from fleetlane.events.times import now_ms
from fleetlane.parsers.testkit.samples import recorded_trial
from fleetlane.parsers.testkit.trials import Trial

FILE_BYTES_MAX = 256 << 20


class BadInputError(FleetlaneError):
    """A file is not what its option says."""

    file: str
    problem: str
    sentence = "{file} {problem}"


def read_at_most(file: BinaryIO, name: str) -> bytes:
    """All of a file, which is no larger than any message may be."""
    content = file.read(FILE_BYTES_MAX + 1)
    if len(content) > FILE_BYTES_MAX:
        raise BadInputError(name, f"has over {FILE_BYTES_MAX} bytes, the limit")
    return content


def bytes_from_hex(text: bytes, name: str) -> bytes:
    """Read hexadecimal digits; white space and colons between bytes are left out."""
    try:
        return bytes.fromhex(text.decode("ascii").replace(":", " "))
    except ValueError as problem:
        raise BadInputError(name, f"is not hexadecimal: {problem}") from None


def records_from(content: bytes, name: str) -> Iterator[ExportedRecord]:
    """Read exported records, one a line."""
    for number, line in enumerate(content.splitlines(), start=1):
        if line.strip():
            try:
                yield record_from_json(line)
            except FleetlaneError as problem:
                raise BadInputError(f"{name}, line {number},", str(problem)) from None


def one_message(content: bytes, name: str, *, is_record: bool) -> Trial:
    """The message that a file holds: its bytes, or its one record's."""
    if is_record:
        records = list(records_from(content, name))
        if len(records) != 1:
            raise BadInputError(name, f"holds {len(records)} records; this takes one")
        return recorded_trial(records[0])
    return Trial(body=content, arrival_millis=now_ms())


def readable(records: Iterable[Record]) -> Iterator[tuple[Record, Trial]]:
    """Records with their messages; not a body by reference, nor what is no message at all."""
    for record in records:
        with suppress(FleetlaneError):
            yield record, recorded_trial(record)


def is_of_records(path: Path) -> bool:
    """Whether a file's name says that it holds exported records."""
    return path.name.endswith((".record.json", ".records.jsonl"))
