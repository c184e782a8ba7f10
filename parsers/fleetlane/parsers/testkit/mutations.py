"""What a bad line makes of a message: bits flipped, bytes lost, parts sent twice."""

import random
from collections.abc import Iterator

_FLIPS_MAX = 160
_CUTS_MAX = 60
_OTHERS = 30


def mutated(sample: bytes) -> Iterator[bytes]:
    """Some 250 spoilt versions of a sample, always the same ones."""
    chance = random.Random(0)  # noqa: S311 - to spoil, not to hide
    for bit in _spread(len(sample) * 8, _FLIPS_MAX, chance):
        yield _flipped(sample, bit)
    for length in _spread(len(sample), _CUTS_MAX, chance):
        yield sample[:length]
    yield sample + sample
    for _ in range(_OTHERS if sample else 0):
        begin, end = sorted(chance.choices(range(len(sample) + 1), k=2))
        yield sample[:end] + sample[begin:]  # a part sent twice
        yield sample[:begin] + sample[end:]  # a part lost
        yield sample[:begin] + bytes(end - begin) + sample[end:]  # a part of zeros
        yield sample[:begin] + b"\xff" * (end - begin) + sample[end:]


def _spread(count: int, at_most: int, chance: random.Random) -> list[int]:
    """All numbers below ``count``, or ``at_most`` of them."""
    return sorted(chance.sample(range(count), min(count, at_most)))


def _flipped(sample: bytes, bit: int) -> bytes:
    place, mask = bit // 8, 1 << bit % 8
    return sample[:place] + bytes([sample[place] ^ mask]) + sample[place + 1 :]
