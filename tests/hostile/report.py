"""What a run found, as JSON for others."""

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from statistics import median

from benchmarks.kept_numbers import write_numbers
from operations.ledger.reconciliation import Ledger


@dataclass(frozen=True, slots=True, kw_only=True)
class Round:
    """Honest messages' milliseconds from POST to canonical, without attackers and with them."""

    calm: Mapping[str, int]
    attacked: Mapping[str, int]

    @property
    def p95_ratio(self) -> float:
        return round(self.attacked["p95_ms"] / self.calm["p95_ms"], 2)


@dataclass(frozen=True, slots=True, kw_only=True)
class HostileReport:
    """What became of a run; ``answers`` counts each attack's by status, 0 where none came.

    The ``first`` round is not one of the ``rounds``: the JVMs compile what no attack had called.
    """

    first: Round
    rounds: tuple[Round, ...]
    answers: Mapping[str, Mapping[int, int]]
    honest_sent: int
    honest_refused: int
    died: tuple[str, ...]
    loot: tuple[str, ...]
    health: str
    ledger: Ledger

    @property
    def honest_p95_ratio(self) -> float:
        return median(one.p95_ratio for one in self.rounds)

    def write(self, path: Path) -> str:
        ledger = {name: getattr(self.ledger, name) for name in ("accepted", "lost", "invented")}
        numbers = {
            "honest_p95_ratio": self.honest_p95_ratio,
            "first_round_p95_ratio": self.first.p95_ratio,
            "rounds": [
                asdict(one) | {"p95_ratio": one.p95_ratio} for one in (self.first, *self.rounds)
            ],
            "answers": self.answers,
            "honest_sent": self.honest_sent,
            "honest_refused": self.honest_refused,
            "died": self.died,
            "loot": self.loot,
            **ledger,
        }
        return write_numbers(path, numbers)
