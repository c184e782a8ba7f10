"""How a flow file declares a field, and what is refused of it."""

import math
import re
from collections.abc import Mapping, Sequence
from typing import Annotated

import msgspec

_SIGNED = {"i16": "h", "i32": "i", "i64": "q", "f32": "f", "f64": "d"}
_CODES = {**_SIGNED, "u16": "H", "u32": "I", "u64": "Q"}
NUMBER_CODES: Mapping[str, str] = {
    "i8": "b",
    "u8": "B",
    **{f"{kind}le": f"<{code}" for kind, code in _CODES.items()},
    **{f"{kind}be": f">{code}" for kind, code in _CODES.items()},
}
"""What ``struct`` calls each type: its byte order, where it has one, and its letter."""

_SIZED = re.compile(r"(text|bytes|skip):([1-9][0-9]{0,4})")


class Conversion(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """What a number becomes: ``number * scale + offset``, or what ``values`` names it."""

    name: str = ""
    scale: float = 1.0
    offset: float = 0.0
    values: Mapping[str, str | bool | int | float] = {}

    def __post_init__(self) -> None:
        if not self.scale or not math.isfinite(self.scale) or not math.isfinite(self.offset):
            raise ValueError(f"scale {self.scale} or offset {self.offset} is 0 or not finite")
        if self.is_scaled and self.values:
            raise ValueError("values, and scale or offset: only one of them can be")
        for key, value in self.values.items():
            if not re.fullmatch(r"0|-?[1-9][0-9]{0,19}", key):
                raise ValueError(f"values has the key {key!r:.80}, which is no integer")
            if isinstance(value, float) and not math.isfinite(value):
                raise ValueError(f"values has {value} for {key}, which is not finite")

    @property
    def is_scaled(self) -> bool:
        return (self.scale, self.offset) != (1.0, 0.0)

    @property
    def is_converted(self) -> bool:
        return self.is_scaled or bool(self.values)


class BitField(Conversion, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Some bits of a word: the first declared are the lowest. Without a name they are skipped."""

    bits: Annotated[int, msgspec.Meta(ge=1)]
    signed: bool = False


class Field(Conversion, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """One field, as docs/formats.md describes it.

    Without a name it is read and checked, and left out of the event.
    """

    type: str
    equals: int | float | str | None = None
    bits: tuple[BitField, ...] = ()

    @property
    def is_number(self) -> bool:
        return self.type in NUMBER_CODES

    @property
    def is_float(self) -> bool:
        return self.is_number and self.type.startswith("f")

    @property
    def is_unsigned(self) -> bool:
        return self.is_number and self.type.startswith("u")

    @property
    def kind(self) -> str:
        """``number``, ``text``, ``bytes`` or ``skip``."""
        return "number" if self.is_number else self.type.partition(":")[0]

    @property
    def size_bytes(self) -> int:
        """Of text, bytes and what is skipped."""
        return int(self.type.partition(":")[2])

    def __post_init__(self) -> None:
        Conversion.__post_init__(self)
        if not self.is_number and not _SIZED.fullmatch(self.type):
            allowed = f"{', '.join(NUMBER_CODES)}, and text:N, bytes:N, skip:N of 1 to 99999 bytes"
            raise ValueError(f"type {self.type!r:.80}; allowed: {allowed}")
        if self.is_converted and not self.is_number:
            raise ValueError(f"scale, offset and values are for numbers, not for {self.type}")
        if self.values and self.is_float:
            raise ValueError(f"values are for integers, not for {self.type}")
        self._require_purpose()
        self._require_bits_fit()

    def _require_purpose(self) -> None:
        if self.kind == "skip":
            if self.name or self.equals is not None:
                raise ValueError("what is skipped has no name and equals nothing")
        elif not self.name and not self.bits and self.equals is None:
            raise ValueError("a name, equals or bits is missing; padding is of type skip:N")

    def _require_bits_fit(self) -> None:
        if not self.bits:
            return
        if not self.is_unsigned:
            raise ValueError(f"bits are for unsigned words, not for {self.type}")
        word_bits = int(self.type.strip("ulbe"))
        taken = sum(each.bits for each in self.bits)
        if taken > word_bits:
            raise ValueError(f"bits are {taken} together; {self.type} has {word_bits}")


def declared_fields(options: Sequence[Mapping[str, object]], option: str) -> tuple[Field, ...]:
    """Read what is under ``option`` in a flow file; raises ``ValueError`` with the place."""
    try:
        return msgspec.convert(options, tuple[Field, ...])
    except msgspec.ValidationError as error:
        problem, _, place = str(error).partition(" - at `$")
        if "unknown field" in problem:
            kind = BitField if ".bits[" in place else Field
            problem += f"; allowed: {', '.join(sorted(kind.__struct_fields__))}"
        raise ValueError(f"{option}{place.rstrip('`')}: {problem}") from None
