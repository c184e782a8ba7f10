"""What a soak found: as a table for people, as JSON for others."""

import sys
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Final

import orjson

from operations.ledger.reconciliation import Ledger
from tests.soak.backlog import Waiting
from tests.soak.judgement import FaultRecord, MemorySample, MemoryVerdict

_NEVER: Final = "never"


@dataclass(frozen=True, slots=True, kw_only=True)
class SoakReport:
    """``seed`` repeats the run. Rates are in messages a second; times in seconds.

    ``calm_restarts`` are parts that died though nothing had befallen them. ``samples`` and
    ``waiting`` are what the judgements are of.
    """

    seed: int
    minutes: float
    began_s: float
    capacity_per_s: float
    offered_per_s: float
    accepted_per_s: float
    normal: Mapping[str, int]
    faults: tuple[FaultRecord, ...]
    left_out: Mapping[str, str]
    memory: tuple[MemoryVerdict, ...]
    calm_restarts: tuple[str, ...]
    surprises: tuple[str, ...]
    ledger: Ledger
    rows_twice: int
    samples: Mapping[str, Sequence[MemorySample]]
    waiting: Sequence[Waiting]

    def lines(self) -> Iterator[str]:
        """The report in Markdown."""
        yield f"# Soak of {self.minutes:g} minutes, seed {self.seed}"
        yield ""
        yield (
            f"The machine takes {self.capacity_per_s:.0f} messages a second; sent:"
            f" {self.offered_per_s:.0f}; accepted, outages included: {self.accepted_per_s:.0f}."
        )
        normal = ", ".join(f"{place} {count}" for place, count in sorted(self.normal.items()))
        yield f"In normal times at most so many wait: {normal}."
        yield from (f"Left out: {kind}: {why}." for kind, why in self.left_out.items())
        yield ""
        yield f"`{self.ledger.line()}`; events that the lake has twice: {self.rows_twice}"
        yield from (f"- {line}" for line in self.ledger.findings.lines())
        yield from (f"- died in calm: {one}" for one in self.calm_restarts)
        yield f"- answers that no device expected: {len(self.surprises)}"
        yield from (f"  - {one}" for one in self.surprises[:_SURPRISES_SHOWN_MAX])
        yield ""
        yield from self._fault_table()
        yield ""
        yield from self._memory_table()

    def write(self, folder: Path) -> str:
        """Write ``soak.json`` and ``soak.md``; returns the latter."""
        folder.mkdir(parents=True, exist_ok=True)
        numbers = asdict(self)
        numbers["faults"] = [
            asdict(one) | {"recovery_s_max": one.recovery_s_max, "is_ok": one.is_ok}
            for one in self.faults
        ]
        numbers["memory"] = [asdict(one) | {"is_flat": one.is_flat} for one in self.memory]
        (folder / "soak.json").write_bytes(orjson.dumps(numbers, option=orjson.OPT_INDENT_2))
        text = "\n".join(self.lines()) + "\n"
        (folder / "soak.md").write_text(text)
        return text

    def _fault_table(self) -> Iterator[str]:
        yield "| fault | begins after s | lasts s | outage s | recovery s | at most s | ok | died |"
        yield "|---|---|---|---|---|---|---|---|"
        for one in self.faults:
            cells = (
                one.kind,
                f"{one.began_s - self.began_s:.0f}",
                f"{one.ended_s - one.began_s:.0f}",
                seconds(one.outage_s),
                seconds(one.recovery_s),
                f"{one.recovery_s_max:.0f}",
                _yes(is_so=one.is_ok),
                ", ".join(one.restarts),
            )
            yield f"| {' | '.join(cells)} |"

    def _memory_table(self) -> Iterator[str]:
        yield (
            "| role | processes | starts | oldest s | median MiB | most MiB"
            " | growth in the second half, MiB | at most | flat |"
        )
        yield "|---|---|---|---|---|---|---|---|---|"
        for one in self.memory:
            growth = "-" if one.growth_mib is None else f"{one.growth_mib:+.1f}"
            cells = (
                one.role,
                f"{one.processes}",
                f"{one.starts}",
                f"{one.oldest_s:.0f}",
                f"{one.median_mib:.0f}",
                f"{one.most_mib:.0f}",
                growth,
                f"{one.growth_mib_max:.0f}",
                _yes(is_so=one.is_flat),
            )
            yield f"| {' | '.join(cells)} |"


_SURPRISES_SHOWN_MAX: Final = 10


def tell(text: str) -> None:
    """Print a line at once: a soak is long."""
    sys.stdout.write(f"{time.strftime('%H:%M:%S')} {text}\n")
    sys.stdout.flush()


def seconds(value: float | None) -> str:
    return _NEVER if value is None else f"{value:.0f}"


def _yes(*, is_so: bool) -> str:
    return "yes" if is_so else "NO"
