"""Parked messages: which, why, and the newest record of each."""

from collections.abc import Iterable
from dataclasses import dataclass

from fleetlane.events import envelope
from fleetlane.events import headers as ce
from fleetlane.events.envelope_reading import message_from
from fleetlane.events.names import the_id
from fleetlane.events.times import millis_from_rfc3339


@dataclass(frozen=True, slots=True, kw_only=True)
class ParkedMessage:
    """One parked record, without its body.

    ``identity`` is the raw id, or where the record came from if it is no message. Then there is no
    ``stream`` or ``device_id`` either, and no way to replay it.
    """

    position: envelope.KafkaPosition
    identity: str
    reason: str
    detail: str
    parked_from: str
    parked_ms: int
    parser: str | None
    stream: str | None
    device_id: str | None
    body_bytes: int
    attempt: int
    revision: int
    reference: envelope.PayloadReference | None

    @property
    def is_message(self) -> bool:
        return self.stream is not None


@dataclass(frozen=True, slots=True, kw_only=True)
class ParkedFilter:
    """Which parked messages are wanted; ``None`` is any. ``parser`` is a name, or name@version.

    The beginning of an id in ``ids`` is enough. ``since_ms`` (inclusive) and ``until_ms``
    (exclusive) are times of parking.
    """

    stream: str | None = None
    reason: str | None = None
    parser: str | None = None
    since_ms: int | None = None
    until_ms: int | None = None
    ids: frozenset[str] = frozenset()

    def takes(self, parked: ParkedMessage) -> bool:
        parser_name = (parked.parser or "").partition("@")[0]
        return (
            self.concerns(parked)
            and self.reason in (None, parked.reason)
            and self.parser in (None, parked.parser, parser_name)
            and (self.since_ms is None or parked.parked_ms >= self.since_ms)
            and (self.until_ms is None or parked.parked_ms < self.until_ms)
        )

    def concerns(self, parked: ParkedMessage) -> bool:
        """Whether another parked record of the same message could be taken, if this is not."""
        is_of_ids = not self.ids or parked.identity.startswith(tuple(self.ids))
        return is_of_ids and self.stream in (None, parked.stream)


def newest_parked(records: Iterable[envelope.Record], wanted: ParkedFilter) -> list[ParkedMessage]:
    """The latest parked record of each wanted message, the oldest first.

    A message that was parked again for another reason is matched by the newer one alone. Raises
    ``AmbiguousIdError`` where several ids begin like one that is wanted.
    """
    newest: dict[str, ParkedMessage] = {}
    for record in records:
        parked = parked_message(record)
        if not wanted.concerns(parked):
            continue
        known = newest.get(parked.identity)
        if known is None or _age(known) <= _age(parked):
            newest[parked.identity] = parked
    named = {the_id(one, newest) for one in wanted.ids}
    found = (one for one in newest.values() if not named or one.identity in named)
    return sorted(filter(wanted.takes, found), key=_age)


def parked_message(record: envelope.Record) -> ParkedMessage:
    """Read a record of ``parked``, whatever it contains."""
    values = dict(record.headers)  # parking adds its headers last: the last of a name counts

    def text(name: str) -> str:
        return (values.get(name) or b"").decode(errors="replace")

    message, came_from = message_in(record), text(ce.PARKED_FROM)
    parked_ms = millis_from_rfc3339(text(ce.PARKED_AT))
    return ParkedMessage(
        position=record.position,
        identity=message.raw_id if message else came_from or str(record.position),
        reason=text(ce.PARKED_REASON),
        detail=text(ce.PARKED_DETAIL),
        parked_from=came_from,
        parked_ms=record.timestamp_ms if parked_ms is None else parked_ms,
        parser=text(ce.PARKED_PARSER) or None,
        stream=message.stream if message else None,
        device_id=message.device_id if message else None,
        body_bytes=message.body_bytes if message else len(record.value or b""),
        attempt=message.attempt if message else 1,
        revision=message.revision if message else 0,
        reference=message.reference if message else None,
    )


def message_in(record: envelope.Record) -> envelope.Message | None:
    """The message of a raw or parked record; ``None`` if its envelope cannot be read."""
    try:
        return message_from(envelope.raw_headers(record.headers), record.value)
    except envelope.BadEnvelopeError:
        return None


def _age(parked: ParkedMessage) -> tuple[int, int]:
    return parked.parked_ms, parked.position.offset
