"""Messages that nobody would send: valid ones changed, pieces of a format put together, noise."""

from collections.abc import Sequence
from random import Random

NOISE_BYTES_MAX = 400
PIECES_MAX = 40
CHANGES_MAX = 6
REPEATED_BYTES_MAX = 64 << 10
_EDGES = (0, 1, 0x7F, 0x80, 0xFE, 0xFF)
_WIDTHS = (1, 2, 4, 8)


def random_message(random: Random, samples: Sequence[bytes], pieces: Sequence[bytes]) -> bytes:
    """One message. ``pieces`` are what the format is made of: brackets, tags, lengths, names."""
    choice = random.random()
    if choice < 0.1:
        return random.randbytes(random.randrange(NOISE_BYTES_MAX))
    if choice < 0.4:
        return b"".join(random.choices(pieces, k=random.randrange(1, PIECES_MAX)))
    message = bytearray(random.choice(samples))
    for _ in range(random.randrange(CHANGES_MAX)):
        _change(message, random, pieces)
    if choice < 0.5:
        message += random.choice(samples)
    return bytes(message)


def _change(message: bytearray, random: Random, pieces: Sequence[bytes]) -> None:
    start = random.randrange(len(message) + 1)
    end = min(len(message), start + random.choice((0, 1, 1, 2, 4, 16)))
    match random.randrange(6):
        case 0:
            message[start:end] = random.randbytes(end - start)
        case 1:  # a number at its edge, as a length or a value
            width, order = random.choice(_WIDTHS), random.choice(("little", "big"))
            edge = random.choice(_EDGES) << random.choice((0, 8 * (width - 1)))
            message[start : start + width] = edge.to_bytes(width, order)  # type: ignore[arg-type] # one of the two
        case 2:
            message[start:end] = random.choice(pieces)
        case 3:
            del message[start:end]
        case 4:
            del message[start:]
        case _:
            times = random.choice((2, 3, 70, 5_000))
            times = min(times, REPEATED_BYTES_MAX // max(1, end - start))
            message[start:end] = bytes(message[start:end]) * times
