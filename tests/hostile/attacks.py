"""What each of the attackers sends, how often, and which answers it may get."""

import json
import os
import secrets
from collections.abc import Callable
from dataclasses import dataclass, field
from itertools import count, cycle
from pathlib import Path
from random import Random
from typing import Final

from backports import zstd

from fleetlane.events.times import DAY_MS, rfc3339
from local.simulator import bodies
from tests.unit.parsers.sandbox.escaping_parser import ESCAPES

_MIB: Final = 1 << 20
_RANDOM: Final = Random(17)  # noqa: S311 - a simulation
_ACCEPTED: Final = frozenset({202})
_HELD_BACK: Final = frozenset({202, 429})
"""Accepted, or over a rate limit."""

AMPLIFIED_EVENTS: Final = 100_000
DAYS_AT_ONCE: Final = 400


@dataclass(frozen=True, slots=True, kw_only=True)
class Request:
    """One request of an attacker. ``token``, where it has one, takes the place of its own."""

    path: str
    body: bytes
    headers: dict[str, str] = field(default_factory=dict)
    token: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Attack:
    """One attacking device: ``request`` makes its next request of the time it is sent at.

    ``answers`` are the statuses that it may get; another one is a defect.
    """

    name: str
    request: Callable[[int], Request]
    every_s: float
    answers: frozenset[int]
    device_type: str = "generic"


def attacks(folder: Path = Path()) -> tuple[Attack, ...]:
    """Ten of them, each within what a device may send, but for the flood.

    ``folder`` has what parsers are after.
    """
    return (
        Attack(name="far-times", request=_far_times, every_s=0.5, answers=frozenset({400})),
        Attack(name="bomb", request=_bomb, every_s=1, answers=_ACCEPTED),
        Attack(name="amplified", request=_amplified, every_s=2, answers=_ACCEPTED),
        Attack(name="many-days", request=_many_days, every_s=1, answers=_ACCEPTED),
        Attack(name="big-bodies", request=_big_bodies, every_s=1, answers=_HELD_BACK),
        Attack(
            name="hanging", request=_hanging, every_s=1, answers=_ACCEPTED, device_type="acme-v1"
        ),
        Attack(name="markup", request=_markup, every_s=0.5, answers=_ACCEPTED),
        Attack(name="escapes", request=_escapes(folder), every_s=0.6, answers=_ACCEPTED),
        Attack(name="flood", request=_gps, every_s=0.02, answers=_HELD_BACK),
        Attack(name="bad-tokens", request=_bad_token, every_s=0.1, answers=frozenset({401})),
    )


def _gps(at_ms: int) -> Request:
    return Request(path="/v1/streams/gps", body=bodies.gps(_RANDOM, at_ms, 1))


def _with_headers(at_ms: int, **headers: str) -> Request:
    named = {name.replace("_", "-"): value for name, value in headers.items()}
    return Request(path="/v1/streams/gps", body=bodies.gps(_RANDOM, at_ms, 1), headers=named)


def _far_times(at_ms: int) -> Request:
    return _with_headers(at_ms, X_Data_End_Millis="-999999999999999999")


def _markup(at_ms: int) -> Request:
    return _with_headers(at_ms, X_Firmware_Version="[/]")


_BOMB: Final = zstd.compress(b"[" + b" " * (64 * _MIB - 2) + b"]")
_AMPLIFIED: Final = zstd.compress(b"{}\n" * AMPLIFIED_EVENTS)


def _packed(path: str, body: bytes) -> Request:
    return Request(path=path, body=body, headers={"X-Body-Encoding": "zstd"})


def _bomb(at_ms: int) -> Request:
    """To the fast lane, and to the standard one, in turn."""
    return _packed("/v1/fast/door" if at_ms // 1_000 % 2 else "/v1/streams/gps", _BOMB)


def _amplified(_: int) -> Request:
    return _packed("/v1/streams/counters", _AMPLIFIED)


def _many_days(at_ms: int) -> Request:
    fixes = [
        {"at": rfc3339(at_ms - day * DAY_MS), "lat": 48.0, "lon": 11.0}
        for day in range(DAYS_AT_ONCE)
    ]
    return Request(path="/v1/streams/gps", body=json.dumps(fixes).encode())


def _big_bodies(at_ms: int) -> Request:
    """One in four is as large as the API takes, and S3 holds it; Kafka carries the others whole."""
    size_bytes = 4 * _MIB if at_ms // 1_000 % 4 == 0 else 240 * 1024
    entry = {"at_ms": at_ms, "level": "debug", "dump": "x" * size_bytes}
    document = {"boot_id": secrets.token_hex(8), "entries": [entry]}
    return Request(path="/v1/streams/diagnostics", body=json.dumps(document).encode())


def _hanging(at_ms: int) -> Request:
    body = bodies.vibration(_RANDOM, at_ms, bodies.ENDLESS_PASSES)
    return Request(path="/v1/streams/vibration", body=body)


ESCAPES_STREAM: Final = "escapes"
KEPT_FILE: Final = "secret"
"""The name of the file that no parser may read or change."""
_ANYBODYS_END: Final = frozenset({"bombs", "signals-all", "signals-init"})
"""Left to the tests of the jail: where they succeed, they end more than a test."""


def _escapes(folder: Path) -> Callable[[int], Request]:
    """Messages of a team whose parser tries to get out of its jail, a way a message."""
    kinds, numbers = cycle(sorted(ESCAPES.keys() - _ANYBODYS_END)), count()
    world = {
        "worker": os.getpid(),
        "sibling": os.getpid(),
        "address": 4_096,
        "bucket": str(folder),
        "port": 22,
        **dict.fromkeys(("secret", "artifact", "door"), str(folder / KEPT_FILE)),
    }

    def request(_: int) -> Request:
        order = {"kind": next(kinds), "id": next(numbers), **world}
        return Request(path=f"/v1/streams/{ESCAPES_STREAM}", body=json.dumps(order).encode())

    return request


def _bad_token(at_ms: int) -> Request:
    return Request(
        path="/v1/streams/gps",
        body=bodies.gps(_RANDOM, at_ms, 1),
        token=f"{secrets.token_urlsafe(20)}.{secrets.token_urlsafe(60)}.{secrets.token_urlsafe(64)}",
    )
