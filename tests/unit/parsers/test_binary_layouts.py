"""Layouts of any fields: what was written by them is read, and no bytes break them."""

import math
from collections.abc import Sequence

from hypothesis import given, settings
from hypothesis import strategies as st

from fleetlane.parsers.contract import MalformedMessage
from fleetlane.parsers.formats.binary.fields import NUMBER_CODES
from fleetlane.parsers.formats.binary.parser import Binary

quick = settings(max_examples=100, deadline=None)
# An encoder of its own: no struct, only int.to_bytes and integers.
_INTEGERS = [kind for kind in NUMBER_CODES if not kind.startswith("f")]


def _width_bytes(kind: str) -> int:
    return int(kind.strip("iulbe")) // 8


def _written(kinds: Sequence[str], values: Sequence[int]) -> bytes:
    return b"".join(
        value.to_bytes(
            _width_bytes(kind),
            "big" if kind.endswith("be") else "little",
            signed=kind.startswith("i"),
        )
        for kind, value in zip(kinds, values, strict=True)
    )


@st.composite
def _integer_records(draw: st.DrawFn) -> tuple[list[str], list[list[int]]]:
    kinds = draw(st.lists(st.sampled_from(_INTEGERS), min_size=1, max_size=6))
    row = []
    for kind in kinds:
        bits = 8 * _width_bytes(kind)
        low, high = (-(2 ** (bits - 1)), 2 ** (bits - 1)) if kind[0] == "i" else (0, 2**bits)
        row.append(st.integers(low, high - 1))
    return kinds, draw(st.lists(st.tuples(*row).map(list), max_size=4))


@quick
@given(_integer_records())
def test_what_another_encoder_writes_is_read(written: tuple[list[str], list[list[int]]]) -> None:
    kinds, rows = written
    parser = Binary(fields=tuple({"name": f"f{i}", "type": kind} for i, kind in enumerate(kinds)))

    found = list(parser.parse(b"".join(_written(kinds, row) for row in rows)))

    assert [list(event.values()) for event in found] == rows


@quick
@given(widths=st.lists(st.integers(1, 16), min_size=1, max_size=4), word=st.integers(0, 2**64 - 1))
def test_bits_put_together_are_the_word(widths: list[int], word: int) -> None:
    bits = [{"name": f"b{i}", "bits": width} for i, width in enumerate(widths)]
    parser = Binary(header=({"type": "u64le", "bits": bits},))

    (event,) = parser.parse(word.to_bytes(8, "little"))

    shift, together = 0, 0
    for width, part in zip(widths, event.values(), strict=True):
        assert isinstance(part, int)
        together |= part << shift
        shift += width
    assert together == word & ((1 << shift) - 1)


@quick
@given(message=st.binary(max_size=80))
def test_any_bytes_give_finite_events_or_malformed(message: bytes) -> None:
    parser = Binary(
        header=({"name": "n", "type": "u8"},),
        fields=(
            {"name": "a", "type": "f32be"},
            {"name": "b", "type": "text:2"},
            {"name": "c", "type": "f64le", "scale": 10},
        ),
        count="n",
    )

    try:
        found = list(parser.parse(message[:1] + message[1:] * (message[0] % 3) if message else b""))
    except MalformedMessage:
        return

    numbers = [value for event in found for value in event.values() if isinstance(value, float)]
    assert all(map(math.isfinite, numbers))
