"""How long a parser takes for a message, against what its lane allows."""

import time
from dataclasses import dataclass
from typing import Final

from fleetlane.parsers.testkit.parser_process import ParserProcess
from fleetlane.parsers.testkit.trials import Trial

ROUNDS_MAX: Final = 1_000
SECONDS_MAX: Final = 3.0
_AT_ONCE: Final = 50


@dataclass(frozen=True, slots=True, kw_only=True)
class Timing:
    """Microseconds for one message, over so many rounds. ``reason`` is set if it failed."""

    body_bytes: int
    rounds: int
    median_us: int
    p99_us: int
    limit_ms: int
    events: int
    reason: str | None
    detail: str


def timed(process: ParserProcess, trial: Trial) -> Timing:
    """Parse a message again and again, for three seconds at most, once it is warm."""
    outcome = process.outcomes([trial])[0]
    took_us = sorted(_rounds(process, trial)) if outcome.is_well_behaved else [outcome.parse_us]
    return Timing(
        body_bytes=len(trial.body),
        rounds=len(took_us),
        median_us=took_us[len(took_us) // 2],
        p99_us=took_us[len(took_us) * 99 // 100],
        limit_ms=process.subject.limit_ms,
        events=len(outcome.events),
        reason=outcome.reason,
        detail=outcome.detail,
    )


def _rounds(process: ParserProcess, trial: Trial) -> list[int]:
    process.outcomes([trial] * _AT_ONCE)
    took_us: list[int] = []
    give_up_s = time.monotonic() + SECONDS_MAX
    while len(took_us) < ROUNDS_MAX and time.monotonic() < give_up_s:
        took_us += [one.parse_us for one in process.outcomes([trial] * _AT_ONCE)]
    return took_us
