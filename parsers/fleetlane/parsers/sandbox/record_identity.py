"""Whose a record is, written by the worker: a parser can change all that its own process writes."""

import re
from array import array
from collections.abc import Iterable, Sequence
from dataclasses import replace
from itertools import accumulate
from typing import Final

import msgspec
import orjson

from fleetlane.events.canonical import TimeQuality, message_prefix
from fleetlane.events.flows.event_ids import event_ids, ordinals_prefix
from fleetlane.events.times import MILLIS_MIN
from fleetlane.events.topics import CanonicalKey
from fleetlane.parsers.sandbox.canonical_records import BytesColumn, CanonicalRecords
from fleetlane.parsers.sandbox.results import InvalidReplyError
from fleetlane.parsers.sandbox.runs import Assignment, message_facts_from

_TAIL: Final = re.compile(
    rb'^(?:"time":"[0-9]{4}-(?:0[1-9]|1[0-2])-(?:0[1-9]|[12][0-9]|3[01])T(?:[01][0-9]|2[0-3])'
    rb':[0-5][0-9]:[0-5][0-9]\.[0-9]{3}Z",)?"timequality":"(?:%b)","data":(\{.*\})\}$'
    % "|".join(TimeQuality).encode(),
    re.MULTILINE,
)
_KEY_PARTS: Final = {
    CanonicalKey.DEVICE_HOUR: (b"/", len("2026-11-03T14")),
    CanonicalKey.DEVICE: (b"", 0),
    CanonicalKey.EVENT_MILLIS: (None, len(str(MILLIS_MIN))),
}
"""What comes behind the device (``None``: it is not there), and the most behind that, in bytes."""
_OK_DAY: Final = re.compile(rb'"time":"([^T]+)[^"]+","timequality":"%b"' % TimeQuality.OK.encode())
_DAY_BYTES: Final = len('"time":"2026-11-03')
_objects: Final = msgspec.json.Decoder(list[msgspec.Raw])


def with_identity(
    tails: CanonicalRecords, envelopes: Iterable[bytes], counts: Iterable[int], by: Assignment
) -> CanonicalRecords:
    """Write the beginning of each record: specversion, source, type, raw id, parser, …, id.

    ``tails`` have what comes behind the id, as ``canonical_tail`` writes it, ``counts`` of them for
    each of the ``envelopes``. Each tail is checked to be one, with one JSON object and no more: it
    could name another source behind a first end of the object.

    Raises ``InvalidReplyError`` where one is not, or what reading JSON raises.
    """
    written = [*BytesColumn(tails.value_ends, tails.values)]
    data = _data_of(written)
    is_hashed = by.flow.identity.by != "message"
    key_end, rest_bytes_max = _KEY_PARTS[by.flow.canonical.key]
    keys, key_ends = bytes(tails.keys), tails.key_ends.tolist()
    pieces, place = list[bytes](), 0
    for envelope, count in zip(envelopes, counts, strict=True):
        if not count:
            continue
        sender = message_facts_from(envelope, stream=by.flow.stream)
        shared = message_prefix(sender, parser=by.parser, attributes=by.flow.attributes)
        id_of = event_ids(sender, by.flow.identity) if is_hashed else None
        prefix = b'%b,"id":"%b' % (shared, b"" if id_of else ordinals_prefix(sender).encode())
        owner = sender.device_id.encode() + key_end if key_end is not None else b""
        key_bytes_max = len(owner) + rest_bytes_max
        for number in range(place, place + count):
            at, end = key_ends[number], key_ends[number + 1]
            if end - at > key_bytes_max or not keys.startswith(owner, at, end):
                raise InvalidReplyError("a record with a key that its message does not have")
            if id_of is None:
                pieces.append(b'%b%d",%b' % (prefix, number - place, written[number]))
            else:
                event_id = id_of(orjson.loads(data[number])).encode()
                pieces.append(b'%b%b",%b' % (prefix, event_id, written[number]))
        days_max = by.flow.limits.days_max
        if count > days_max and _days_of(written[place : place + count], days_max) > days_max:
            raise InvalidReplyError("events of more days than its flow allows")
        place += count
    value_ends = array("i", accumulate(map(len, pieces), initial=0))
    return replace(tails, value_ends=memoryview(value_ends), values=memoryview(b"".join(pieces)))


def _days_of(tails: Sequence[bytes], enough: int) -> int:
    """On how many days the plausible times of tails are; at most so many if that is enough."""
    most = len({tail[:_DAY_BYTES] for tail in tails})  # of any quality, at a sixth of the price
    if most <= enough:
        return most
    return len({found[1] for tail in tails if (found := _OK_DAY.match(tail))})


def _data_of(tails: Sequence[bytes]) -> list[bytes]:
    """The events of tails, each of which was found to be one JSON object.

    All are read as one array, which has as many parts of the same lengths only if each is whole.
    """
    lines = b"\n".join((*tails, b""))  # JSON as we write it has no line's end
    lines.isascii() or lines.decode()
    are_whole = lines.count(b"}}\n") == lines.count(b"\n") == len(tails)
    data: list[bytes] = _TAIL.findall(lines) if are_whole else []
    if len(data) != len(tails):
        raise InvalidReplyError("a record that begins or ends as none does")
    objects = _objects.decode(b"[%b]" % b",".join(data))
    if list(map(len, objects)) != list(map(len, data)):
        raise InvalidReplyError("a record with more than one event")
    return data
