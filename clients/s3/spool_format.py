"""A spooled object: records on their way to Kafka, complete, in one file.

The first line says what it is: ``fleetlane-spool/1`` and a line feed. The rest is one MessagePack
array of maps, one a record: ``topic`` (text), ``key`` (binary), ``value`` (binary, or nil for
Kafka's null), ``headers`` (array of pairs: name, and value as binary or nil), all as they are to be
in Kafka. A reader ignores fields that it does not know; what it could not ignore has another
number in the first line.
"""

from collections.abc import Sequence
from typing import Final

import msgspec

from clients.kafka.producer_record import ProducerRecord
from fleetlane.events.errors import FleetlaneError

_FIRST_LINE: Final = b"fleetlane-spool/1\n"
_SHOWN_BYTES: Final = 40


class SpoolUnreadableError(FleetlaneError):
    """An object in the spool is none that this version can read. It is left where it is."""

    reason = "spool_unreadable"
    key: str
    problem: str
    sentence = "spooled object {key} cannot be read: {problem}"


def spooled_bytes(records: Sequence[ProducerRecord]) -> bytes:
    return _FIRST_LINE + msgspec.msgpack.encode(records)


def records_in(spooled: bytes, *, key: str) -> list[ProducerRecord]:
    """Read the records of an object; ``key`` is its name, for people.

    Raises:
        SpoolUnreadableError: It is cut short, altered, or of another version.
    """
    if not spooled.startswith(_FIRST_LINE):
        found = spooled[:_SHOWN_BYTES].split(b"\n", 1)[0]
        raise SpoolUnreadableError(key, f"begins with {found!r}, not with {_FIRST_LINE!r}")
    try:
        return msgspec.msgpack.decode(
            memoryview(spooled)[len(_FIRST_LINE) :], type=list[ProducerRecord]
        )
    except msgspec.MsgspecError as problem:
        raise SpoolUnreadableError(key, str(problem)) from None
