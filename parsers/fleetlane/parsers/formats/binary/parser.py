"""A header, then records of a fixed size to the end."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field

from fleetlane.parsers.contract import MalformedMessage
from fleetlane.parsers.formats.binary.fields import Field, declared_fields
from fleetlane.parsers.formats.binary.layout import Layout, compile_layout
from fleetlane.parsers.json_domain import repeated


@dataclass(frozen=True, slots=True, kw_only=True)
class Binary:
    """Each record is one event, with the header's fields copied into it.

    Without ``fields``, the header is the one event. Their keys are those of ``Field`` and
    ``BitField``; docs/formats.md has an example. A message of any other length is malformed.
    """

    fields: tuple[Mapping[str, object], ...] = ()
    header: tuple[Mapping[str, object], ...] = ()
    count: str = ""
    _record_layout: Layout = field(init=False, repr=False, compare=False)
    _header_layout: Layout = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        record = declared_fields(self.fields, "fields")
        header = declared_fields(self.header, "header")
        if not record and not header:
            raise ValueError("neither fields nor header says what a message holds")
        parts = (part for each in header + record for part in (each, *each.bits))
        for name in repeated(part.name for part in parts if part.name):
            raise ValueError(f"name {name!r:.80} is repeated")
        if self.count:
            _require_count(self.count, header, record)
        object.__setattr__(self, "_record_layout", compile_layout(record))
        object.__setattr__(self, "_header_layout", compile_layout(header))

    def parse(self, message: bytes) -> Iterator[Mapping[str, object]]:
        header = self._header_layout
        if len(message) < header.size_bytes:
            raise MalformedMessage(f"{len(message)} bytes; the header has {header.size_bytes}")
        shared = header.event(header.values_at_start(message))
        if not self.fields:
            _require_length(message, header.size_bytes, "the header has")
            yield shared
            return
        self._require_whole_records(message, shared.pop(self.count, None))
        record = self._record_layout
        for number, values in enumerate(record.rows(message, header.size_bytes), start=1):
            try:
                event = record.event(values)
            except MalformedMessage as error:
                raise MalformedMessage(f"record {number}: {error}") from None
            yield {**shared, **event} if shared else event

    def _require_whole_records(self, message: bytes, count: object) -> None:
        header_bytes, record_bytes = self._header_layout.size_bytes, self._record_layout.size_bytes
        found_bytes = len(message) - header_bytes
        if isinstance(count, int):
            wanted = f"{count} records of {record_bytes} after a header of {header_bytes} are"
            _require_length(message, header_bytes + count * record_bytes, wanted)
        elif found_bytes % record_bytes:
            raise MalformedMessage(f"{found_bytes} bytes of records; a record has {record_bytes}")


def _require_length(message: bytes, wanted_bytes: int, wanted: str) -> None:
    if len(message) != wanted_bytes:
        raise MalformedMessage(f"{len(message)} bytes; {wanted} {wanted_bytes}")


def _require_count(count: str, header: tuple[Field, ...], record: tuple[Field, ...]) -> None:
    if not record:
        raise ValueError(f"count {count!r} counts records, and there are no fields")
    if not any(one.name == count and one.is_unsigned and not one.is_converted for one in header):
        raise ValueError(f"count {count!r} is no plain unsigned field of the header")
