"""The thermometer: a message is a run of six-byte readings."""

import struct
from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from fleetlane.parsers.contract import MalformedMessage


@dataclass(frozen=True, slots=True, kw_only=True)
class AcmeThermo:
    """Each reading is ``uint32`` seconds since 1970 and ``int16`` counts, little-endian.

    This is a whole parser: the fields are the options that a flow file may set, ``parse`` yields
    the events, and ``MalformedMessage`` says what is wrong with bytes that can never be parsed.

    Attributes:
        celsius_per_count: What one count of the sensor stands for.
    """

    celsius_per_count: float = 0.01

    def parse(self, message: bytes) -> Iterator[Mapping[str, object]]:
        if len(message) % 6:
            raise MalformedMessage(f"{len(message)} bytes; readings are 6 bytes each")
        for measured_at, counts in struct.iter_unpack("<Ih", message):
            yield {"measured_at": measured_at, "celsius": counts * self.celsius_per_count}
