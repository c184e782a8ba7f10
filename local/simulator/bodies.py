"""Bodies as the firmware of each kind of device writes them."""

import struct
from collections.abc import Callable
from random import Random
from typing import Final

import orjson

from fleetlane.events.times import rfc3339

SLOW_PASSES: Final = 7_000
"""Passes of smoothing that take a third of a second: too long for the standard lane."""
ENDLESS_PASSES: Final = 4_000_000_000
"""Passes that take days: too long for any lane."""

_SAMPLES: Final = 500

type WriteBody = Callable[[Random, int, int], bytes]
"""Writes a body: chance, the first event's time in milliseconds, and the number of events."""


def thermo(random: Random, at_ms: int, readings: int) -> bytes:
    at_s = at_ms // 1000
    return b"".join(
        struct.pack("<Ih", at_s + second, random.randint(-2_000, 4_000))
        for second in range(readings)
    )


def gps(random: Random, at_ms: int, fixes: int) -> bytes:
    lat, lon = random.uniform(47, 54), random.uniform(6, 15)
    return orjson.dumps(
        [
            {
                "at": rfc3339(at_ms + number * 1000),
                "lat": round(lat + number * 1e-4, 6),
                "lon": round(lon + number * 1e-4, 6),
                "speed_kmh": random.randint(0, 130),
            }
            for number in range(fixes)
        ]
    )


def weather(random: Random, at_ms: int, rows: int) -> bytes:
    lines = ["observed_at,celsius,humidity_percent,is_raining"]
    for number in range(rows):
        celsius, humidity_percent = random.uniform(-20, 40), random.randint(10, 100)
        is_raining = "true" if humidity_percent > 85 else "false"  # noqa: PLR2004 - wet air
        at = rfc3339(at_ms + number * 60_000)
        lines.append(f"{at},{celsius:.1f},{humidity_percent},{is_raining}")
    return "\r\n".join(lines).encode()


def counters(random: Random, at_ms: int, lines: int) -> bytes:
    parts = random.randint(0, 1_000_000)
    return b"\n".join(
        orjson.dumps({"at_ms": at_ms + number * 1000, "parts": parts + number})
        for number in range(lines)
    )


def door(random: Random, at_ms: int, events: int) -> bytes:
    kinds = ("opened", "closed", "alarm")
    moves = [
        {"at_ms": at_ms + number, "kind": random.choice(kinds), "door": random.randint(1, 8)}
        for number in range(events)
    ]
    return orjson.dumps(moves)


def vibration(random: Random, at_ms: int, passes: int) -> bytes:
    """One event, whatever ``passes``: so often the parser is to smooth the trace."""
    samples = (random.randint(-30_000, 30_000) for _ in range(_SAMPLES))
    header = struct.pack("<4sIIH", b"VIB1", at_ms // 1000, passes, _SAMPLES)
    return header + struct.pack(f"<{_SAMPLES}h", *samples)


def core_dump(random: Random, at_ms: int, entries: int) -> bytes:
    """About 64 KiB an entry."""
    return diagnostics(random, at_ms, entries, dump_bytes=32 * 1024)


def diagnostics(random: Random, at_ms: int, entries: int, *, dump_bytes: int = 480) -> bytes:
    """About a kilobyte an entry."""
    boot_id = random.randbytes(8).hex()
    dumps = [
        {"at_ms": at_ms + number, "level": "debug", "dump": random.randbytes(dump_bytes).hex()}
        for number in range(entries)
    ]
    return orjson.dumps({"boot_id": boot_id, "entries": dumps})
