"""One CBOR data item a message (RFC 8949)."""

import io
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from functools import cache, partial
from typing import Any, Final

import cbor2

from fleetlane.parsers.contract import MalformedMessage
from fleetlane.parsers.document_events import EventsInDocument
from fleetlane.parsers.json_domain import BYTES_WRITERS, DEPTH_MAX, BytesAs, in_json_domain

_TagReader = Callable[[object, bool], object]  # the tag's content; whether it is for a key

_INTEGER_BYTES_MAX = 8


@dataclass(frozen=True, slots=True, kw_only=True)
class Cbor(EventsInDocument):
    """A map is one event; an array of maps is one event each (see ``EventsInDocument``).

    What becomes of values that JSON lacks, docs/formats.md says. A length is not believed before
    its bytes are there; a tag is a level of nesting.
    """

    bytes_as: BytesAs = "base64url"
    integer_keys: bool = False
    tags_ignored: tuple[int, ...] = ()

    def parse(self, message: bytes) -> Iterator[Mapping[str, object]]:
        item = _data_item(message, _tag_readers(self.tags_ignored), integer_keys=self.integer_keys)
        yield from self.events_in(in_json_domain(item, bytes_as=self.bytes_as, foreign=_simple))


def _data_item(body: bytes, tag_readers: Mapping[int, _TagReader], *, integer_keys: bool) -> object:
    source = io.BytesIO(body)
    decoder = cbor2.CBORDecoder(
        source,
        semantic_decoders=tag_readers,
        max_depth=DEPTH_MAX,
        allow_duplicate_keys=False,
        strict_hashable_types=not integer_keys,
    )
    try:
        item: object = decoder.decode()
    except cbor2.CBORDecodeError as error:
        if isinstance(error.__cause__, MalformedMessage):  # of a tag
            raise error.__cause__ from None
        why = f": {error.__cause__!s:.120}" if error.__cause__ else ""
        raise MalformedMessage(f"not CBOR: {error!s:.120}{why}") from None
    left = len(body) - source.tell()
    if left:
        raise MalformedMessage(f"{left} bytes follow the data item; allowed: none")
    return item


def _simple(value: object) -> object:
    if value is cbor2.undefined:
        return None
    raise MalformedMessage(f"{value!r:.80} is no value of JSON, nor a byte string or undefined")


class _TagReaders(dict[int, _TagReader]):
    """Refuses every tag that has no reader, also those that cbor2 would read by itself."""

    def __missing__(self, tag: int) -> _TagReader:
        def refuse(*_: object) -> object:
            known = ", ".join(map(str, _TAG_READERS))
            raise MalformedMessage(f"tag {tag}; allowed: {known}, and those of tags_ignored")

        return refuse


@cache
def _tag_readers(tags_ignored: tuple[int, ...]) -> Mapping[int, _TagReader]:
    return _TagReaders({**_TAG_READERS, **dict.fromkeys(tags_ignored, _content)})


def _content(content: object, *_: object) -> object:
    return content


def _of_kind(
    kinds: tuple[type, ...], wanted: str, tag: int, read: Callable[[Any], object]
) -> _TagReader:
    def read_kind(content: object, *_: object) -> object:
        if type(content) not in kinds:
            found = type(content).__name__
            raise MalformedMessage(f"tag {tag} is before {found}; allowed: {wanted}")
        return read(content)

    return read_kind


def _unsigned(octets: bytes) -> int:
    digits = octets.lstrip(b"\0")
    if len(digits) > _INTEGER_BYTES_MAX:
        raise MalformedMessage(f"bignum of {len(digits)} bytes; allowed: {_INTEGER_BYTES_MAX}")
    return int.from_bytes(digits)


_of_bytes = partial(_of_kind, (bytes,), "a byte string")
_TAG_READERS: Final[Mapping[int, _TagReader]] = {
    0: _of_kind((str,), "text", 0, _content),
    1: _of_kind((int, float), "a number", 1, _content),
    2: _of_bytes(2, _unsigned),
    3: _of_bytes(3, lambda octets: -1 - _unsigned(octets)),
    21: _of_bytes(21, BYTES_WRITERS["base64url"]),
    22: _of_bytes(22, BYTES_WRITERS["base64"]),
    23: _of_bytes(23, BYTES_WRITERS["hex"]),
    **dict.fromkeys((24, 32, 33, 34, 36, 55799), _content),
}
