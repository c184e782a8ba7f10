"""Whether many offsets hold together, asked of all at once."""

from typing import Final

_LANE_BYTES: Final = 4
_GUARD: Final = (1 << 31).to_bytes(_LANE_BYTES, "little")


def rise_by_at_most(offsets: memoryview, step_max: int) -> bool:
    """Whether no 32-bit offset is negative or below the one before it, or above it by too much.

    Offsets stand side by side in one very long number. Before it is subtracted from, each gets its
    highest bit set; where it still is afterwards the offset was no smaller, and took nothing
    from the next. Compared one by one they would cost ten times as much.
    """
    lanes, written = len(offsets) - 1, offsets.cast("B")
    guards = int.from_bytes(_GUARD * lanes, "little")
    before = int.from_bytes(written[:-_LANE_BYTES], "little")
    after = int.from_bytes(written[_LANE_BYTES:], "little")
    if (before | after) & guards:
        return False
    steps = (after | guards) - before
    if steps & guards != guards:
        return False
    largest = int.from_bytes(step_max.to_bytes(_LANE_BYTES, "little") * lanes, "little")
    return ((largest | guards) - (steps ^ guards)) & guards == guards
