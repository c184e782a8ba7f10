"""Parked records: a raw record that could not be parsed, its value untouched, and why."""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Final

import msgspec

from fleetlane.events import headers as ce
from fleetlane.events.envelope import Header
from fleetlane.events.errors import ParkedReason
from fleetlane.events.times import rfc3339

DETAIL_BYTES_MAX: Final = 1024


class KafkaPosition(msgspec.Struct, frozen=True, kw_only=True):
    """A record's position in Kafka."""

    topic: str
    partition: int
    offset: int

    def __str__(self) -> str:
        return f"{self.topic}/{self.partition}/{self.offset}"


@dataclass(frozen=True, slots=True, kw_only=True)
class Parking:
    """Why a message is parked, where it was, which parser refused it, and when.

    ``parser`` is ``name@version``, or ``None`` where no parser was chosen.
    """

    reason: ParkedReason
    detail: str
    position: KafkaPosition
    parser: str | None
    parked_millis: int


def parked_headers(headers: Iterable[Header], parking: Parking) -> list[Header]:
    """Add to a raw record's headers why it is parked. Those of an earlier parking are replaced."""
    added: list[Header] = [
        (ce.PARKED_REASON, parking.reason.encode()),
        (ce.PARKED_DETAIL, cut_to_bytes(parking.detail, DETAIL_BYTES_MAX)),
        (ce.PARKED_FROM, str(parking.position).encode()),
        (ce.PARKED_AT, rfc3339(parking.parked_millis).encode()),
    ]
    if parking.parser is not None:
        added.append((ce.PARKED_PARSER, parking.parser.encode()))
    return raw_headers(headers) + added


def raw_headers(headers: Iterable[Header]) -> list[Header]:
    """Remove what parking added."""
    return [header for header in headers if not header[0].startswith(ce.PARKED_PREFIX)]


def cut_to_bytes(text: str, bytes_max: int) -> bytes:
    """UTF-8 of ``text``, cut to at most ``bytes_max`` bytes at a character's end."""
    encoded = text.encode(errors="replace")[:bytes_max]
    return encoded.decode(errors="ignore").encode()
