"""Dragino's LHT65, by the uplinks that The Things Stack or ChirpStack post to a webhook."""

import base64
import struct
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Final

import orjson

from fleetlane.parsers.contract import MalformedMessage

_READINGS_PORT: Final = 2
_READING: Final = struct.Struct(">HhHBh2x")
_BATTERY_BITS: Final = 0x3FFF  # the two above say how full it is
_FROM_MEMORY: Final = 0x40  # the reply to a poll: an old reading, with a time of the sensor's own
_PROBE: Final = 0x01
_NO_PROBE: Final = 0x7FFF


@dataclass(frozen=True, slots=True, kw_only=True)
class Lht65:
    """An event a reading. Uplinks on other ports, and what comes from memory, give none."""

    def parse(self, message: bytes) -> Iterator[Mapping[str, object]]:
        received_at, port, payload = _uplink(message)
        if port != _READINGS_PORT:
            return
        if len(payload) != _READING.size:
            raise MalformedMessage(f"{len(payload)} bytes of payload; a reading is {_READING.size}")
        battery, celsius, humidity, extension, outside = _READING.unpack(payload)
        if extension & _FROM_MEMORY:
            return
        reading = {
            "received_at": received_at,
            "battery_v": (battery & _BATTERY_BITS) / 1000,
            "celsius": celsius / 100,
            "humidity_percent": humidity / 10,
        }
        if extension == _PROBE and outside != _NO_PROBE:
            reading["probe_celsius"] = outside / 100
        yield reading


def _uplink(message: bytes) -> tuple[str, int, bytes]:
    """When the network server received it, its port, and the sensor's bytes."""
    try:
        found: Any = orjson.loads(message)
        if "uplink_message" in found:  # The Things Stack leaves out what is 0 or empty
            uplink = found["uplink_message"]
            time, port = uplink["received_at"], uplink.get("f_port", 0)
            payload = uplink.get("frm_payload", "")
        else:  # ChirpStack; before 4.6 it gives the gateway's time alone
            times = [one["nsTime"] for one in found["rxInfo"] if "nsTime" in one]
            time = min(times) if times else found["time"]
            port, payload = found["fPort"], found["data"]
        return str(time), int(port), base64.b64decode(payload, validate=True)
    except (LookupError, TypeError, ValueError, AttributeError) as problem:
        raise MalformedMessage(f"no uplink of a network server: {problem!r:.200}") from None
