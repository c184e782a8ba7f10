"""The vibration sensor: a message is one recorded trace."""

import math
import struct
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from fleetlane.parsers.contract import MalformedMessage

_MAGIC = b"VIB1"
_HEADER = struct.Struct("<4sIIH")
_SAMPLE_BYTES = 2


@dataclass(frozen=True, slots=True, kw_only=True)
class AcmeVibration:
    """A header, then ``int16`` samples, all little-endian; the trace becomes one event.

    The header: the four bytes ``VIB1``, ``uint32`` seconds since 1970, ``uint32`` passes of
    smoothing to apply, ``uint16`` number of samples.

    The device says how often to smooth, so the device decides what its message costs: one that
    is set to 100 million passes by mistake sends a message of 100 bytes that takes minutes.
    Parsers like this exist, and nothing here prevents it. The platform does: it stops the parser
    at the lane's time limit and moves the message aside, and the other messages do not wait.
    """

    def parse(self, message: bytes) -> Iterator[Mapping[str, object]]:
        measured_at, passes, samples = _trace(message)
        smoothed: Sequence[float] = samples
        for _ in range(passes):
            smoothed = _smoothed_once(smoothed)
        yield {
            "measured_at": measured_at,
            "rms": math.sqrt(sum(value * value for value in smoothed) / len(smoothed)),
            "peak": max(abs(value) for value in smoothed),
            "samples": len(samples),
        }


def _trace(message: bytes) -> tuple[int, int, Sequence[int]]:
    """Read when it was measured, the passes of smoothing, and the samples."""
    if len(message) < _HEADER.size:
        raise MalformedMessage(f"{len(message)} bytes; the header alone has {_HEADER.size}")
    magic, measured_at, passes, samples_count = _HEADER.unpack_from(message)
    if magic != _MAGIC:
        raise MalformedMessage(f"starts with {magic!r}; a trace starts with {_MAGIC!r}")
    expected_bytes = _HEADER.size + samples_count * _SAMPLE_BYTES
    if len(message) != expected_bytes:
        raise MalformedMessage(
            f"{len(message)} bytes; {samples_count} samples need {expected_bytes} bytes"
        )
    if not samples_count:
        raise MalformedMessage("0 samples; a trace has at least 1")
    return measured_at, passes, struct.unpack_from(f"<{samples_count}h", message, _HEADER.size)


def _smoothed_once(values: Sequence[float]) -> Sequence[float]:
    """Replace each value by the mean of itself and its neighbours; an end is its own neighbour."""
    padded = [values[0], *values, values[-1]]
    return [(a + b + c) / 3 for a, b, c in zip(padded, padded[1:], padded[2:], strict=False)]
