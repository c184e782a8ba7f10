"""The gateway with an ingest whose clock can be stepped: ``python -m tests.soak.stepped_gateway``.

Its clock is ahead by as many milliseconds as the file says that ``SOAK_CLOCK_FILE`` names; where
there is none, it is right.
"""

import time
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Final

from clients.environment import read_settings
from lambdas.ingest.dispatcher import Dispatcher
from lambdas.ingest.handler import dispatcher
from local.gateway.__main__ import main
from local.gateway.event import Event

MODULE: Final = "tests.soak.stepped_gateway"
CLOCK_FILE_VARIABLE: Final = "SOAK_CLOCK_FILE"


@dataclass(frozen=True, slots=True, kw_only=True)
class ClockSettings:
    soak_clock_file: str


@cache
def _ingest() -> Dispatcher:
    file = Path(read_settings(ClockSettings).soak_clock_file)
    return dispatcher(now_ms=lambda: time.time_ns() // 1_000_000 + _ahead_ms(file))


def _ahead_ms(file: Path) -> int:
    try:
        return int(file.read_text())
    except FileNotFoundError:
        return 0


def handle(event: Event, context: object) -> object:
    return _ingest().resolve(event)


if __name__ == "__main__":
    main(handle)
