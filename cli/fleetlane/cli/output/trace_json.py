"""What was found of a message, as JSON."""

import json
from base64 import b64encode
from typing import Any

from fleetlane.events.envelope import Message
from fleetlane.events.metadata import Parsed
from operations.messages.trace import MessageTrace


def trace_json(trace: MessageTrace, body: bytes | None) -> str:
    """All of it; the body in base64, or null if it is unavailable."""
    return json.dumps(
        {
            "raw_id": trace.raw_id,
            "outcome": outcome_of(trace),
            "message": trace.message and _facts(trace.message),
            "landings": [
                {
                    "position": str(one.position),
                    "written_ms": one.written_ms,
                    "attempt": one.message.attempt,
                    "slow_tries": one.message.slow_tries,
                    "revision": one.message.revision,
                }
                for one in trace.landings
            ],
            "received_ms": [one.received_ms for one in trace.received],
            "attempts": [_attempt_facts(one) for one in trace.attempts],
            "parked": [
                {
                    "position": str(one.position),
                    "parked_ms": one.parked_ms,
                    "reason": one.reason,
                    "detail": one.detail,
                    "parser": one.parser,
                    "attempt": one.attempt,
                    "revision": one.revision,
                }
                for one, _ in trace.parked
            ],
            "events": [
                {
                    "id": one.event.id,
                    "position": str(one.position),
                    "revision": one.event.revision,
                    "parser": one.event.parser,
                    "time": one.event.time,
                }
                for one in trace.events
            ],
            "body": None if body is None else b64encode(body).decode(),
        }
    )


def outcome_of(trace: MessageTrace) -> str:
    best = trace.best
    return "none yet" if best is None else str(best.outcome)


def _facts(message: Message) -> dict[str, Any]:
    return {
        "device_id": message.device_id,
        "device_type": message.device_type,
        "firmware": message.firmware,
        "via": message.via,
        "stream": message.stream,
        "lane": message.lane,
        "arrival_millis": message.arrival_millis,
        "body_bytes": message.body_bytes,
        "content_type": message.content_type,
        "body_encoding": message.body_encoding,
        "payload": message.reference and message.reference.key,
    }


def _attempt_facts(one: Parsed) -> dict[str, Any]:
    return {
        "attempt": one.attempt,
        "revision": one.revision,
        "lane": one.lane,
        "outcome": one.outcome,
        "reason": one.reason,
        "put_off": one.put_off,
        "parser": one.parser,
        "instead_of": one.instead_of,
        "events": one.events,
        "parse_us": one.parse_us,
        "parsed_ms": one.parsed_ms,
    }
