"""Fleet metadata: small JSON records of messages received, attempts to parse them, and alerts."""

from dataclasses import dataclass
from enum import StrEnum
from typing import Final

import msgspec
import orjson

from fleetlane.events.errors import ParkedReason
from fleetlane.events.lanes import Lane

METADATA_CONTENT_TYPE: Final = "application/json"


class Outcome(StrEnum):
    """What came of one attempt to parse a message. All but ``diverted`` are final."""

    PARSED = "parsed"
    EMPTY = "empty"
    DIVERTED = "diverted"
    PARKED = "parked"


OUTCOMES_BY_RANK: Final = (Outcome.DIVERTED, Outcome.PARKED, Outcome.EMPTY, Outcome.PARSED)
"""Of a message's attempts the one with the last of these counts."""


class Deferral(StrEnum):
    """Why a message goes elsewhere untried. It does not count against the message."""

    PAYLOAD_UNAVAILABLE = "payload_unavailable"
    PARSER_UNAVAILABLE = "parser_unavailable"
    FLOW_UNAVAILABLE = "flow_unavailable"
    FLOW_BLOCKS = "flow_blocks"
    TIME_BUDGET_USED_UP = "overtime_used_up"
    CHILDREN_USED_UP = "children_used_up"
    SHARE_USED_UP = "share_used_up"
    TOO_LARGE_FOR_LANE = "too_large_for_lane"


OVER_BUDGET: Final = frozenset({Deferral.TIME_BUDGET_USED_UP, Deferral.SHARE_USED_UP})
"""Reasons for which a message goes to what is over its flow's budget, where its lane has that."""


class Received(msgspec.Struct, frozen=True, kw_only=True):
    """A row of ``fleet.received``: a message's first landing. Absent fields are ``None``.

    ``landed_ms`` is Kafka's own time of the record: when the door, or its spool, handed it over.
    """

    id: str
    device_id: str
    stream: str
    lane: Lane
    source_topic: str
    source_partition: int
    source_offset: int
    received_ms: int
    body_bytes: int
    by_reference: bool
    device_type: str | None = None
    firmware: str | None = None
    via: str | None = None
    start_ms: int | None = None
    end_ms: int | None = None
    landed_ms: int | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Parsed:
    """A row of ``fleet.parsed``: one attempt. ``reason`` says why it was diverted or parked.

    ``put_off`` says why there was no attempt at all; then there is no ``reason``. ``revision`` is
    the message's, and its events'; ``received_ms`` is the message's arrival, as in its row of
    ``fleet.received``. ``inflated_bytes`` are the body's, ``output_bytes`` its canonical events'.

    ``instead_of`` is the parser that the flow names, where it could not be used and ``parser`` is
    an older one. It is written first, so that such rows can be counted by their first bytes.
    """

    instead_of: str | None = None
    id: str
    attempt: int
    device_id: str
    stream: str
    lane: Lane
    source_topic: str
    source_partition: int
    source_offset: int
    outcome: Outcome
    parsed_ms: int
    received_ms: int | None = None
    reason: ParkedReason | None = None
    put_off: Deferral | None = None
    parser: str | None = None
    revision: int = 0
    events: int = 0
    parse_us: int = 0
    inflated_bytes: int = 0
    output_bytes: int = 0
    first_event_ms: int | None = None
    last_event_ms: int | None = None


IS_THROUGH: Final = frozenset({Outcome.PARSED, Outcome.EMPTY})
"""Outcomes after which nothing of a message is missing downstream."""

OLDER_PARSER_PREFIX: Final = b'{"instead_of":"'
"""How the rows of messages begin that an older parser parsed."""

received_from: Final = msgspec.json.Decoder(Received).decode
parsed_from: Final = msgspec.json.Decoder(Parsed).decode
"""Each reads a record of its topic; raises ``msgspec.DecodeError`` where it is none."""


def parsed_value(parsed: Parsed) -> bytes:
    return orjson.dumps(parsed)


def counts_more(parsed: Parsed, known: Parsed | None) -> bool:
    """Whether an attempt counts more than the best so far.

    Among equal outcomes the higher revision counts, then the later attempt. A revision that is
    parked takes nothing away from what was parsed before.
    """
    return known is None or weight(parsed) > weight(known)


def weight(parsed: Parsed) -> tuple[int, int, int]:
    return OUTCOMES_BY_RANK.index(parsed.outcome), parsed.revision, parsed.attempt


class AlertKind(StrEnum):
    """What was detected: a device sends far too much, or no longer does.

    Or fewer devices than usual send to a flow, far more of its messages are parked, or too many
    are late for its objective. Or the standing ledger misses messages, or knows of too few.
    """

    OVER_RATE_LIMIT = "over_ceiling"
    CALM = "calm"
    LOW_COVERAGE = "low_coverage"
    MUCH_PARKED = "much_parked"
    OBJECTIVE_BURNS = "objective_burns"
    MESSAGE_MISSING = "message_missing"
    NOT_LANDED = "not_landed"


class Alert(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """A record of ``fleet.alerts``, as docs/fleet.md describes it."""

    id: str
    kind: AlertKind
    at_ms: int
    device_id: str | None = None
    stream: str | None = None
    owner: str | None = None
    from_ms: int | None = None
    devices: int | None = None
    devices_min: int | None = None
    parked: int | None = None
    parked_max: int | None = None
    messages: int | None = None
    messages_max: int | None = None
    inline_bytes: int | None = None
    inline_bytes_max: int | None = None
    window_s: int | None = None
    quarantined_until_ms: int | None = None
    objective: str | None = None
    late: int | None = None
    late_max: int | None = None
    lane: Lane | None = None
    raw_id: str | None = None
    sha256: str | None = None
    problem: str | None = None

    @property
    def key(self) -> bytes:
        """What its record is keyed by: the device, or the stream where it is about a flow."""
        return (self.device_id or self.stream or "").encode()

    def to_json(self) -> bytes:
        """Write it; fields that are ``None`` are left out."""
        return msgspec.json.encode(self)
