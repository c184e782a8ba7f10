"""The gateway with functions whose calls are counted and timed.

A few times a second it writes the sums of all calls so far into the file that ``CALLS_FILE`` names.
"""

import math
import threading
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

import msgspec

from benchmarks.scale.counts import AUTHORIZER, INGEST, INGEST_LARGE, Calls, keep_writing
from clients.environment import read_settings
from fleetlane.events.lanes import INLINE_BYTES_MAX
from lambdas.authorizer import handler as authorizer
from lambdas.ingest import handler as ingest
from local.gateway.__main__ import main
from local.gateway.functions import Handler

MODULE: Final = "benchmarks.scale.timed_gateway"
FILE_VARIABLE: Final = "CALLS_FILE"


@dataclass(frozen=True, slots=True, kw_only=True)
class FileSettings:
    """Where the sums go."""

    calls_file: str


class Timer:
    """Sums up calls by function; handlers may run in several threads at once."""

    def __init__(self) -> None:
        self._summing = threading.Lock()
        self._sums: dict[str, Calls] = {}

    def timed(self, handler: Handler, name_of: Callable[[Any], str]) -> Handler:
        def handle(event: Any, context: object) -> object:
            began_s, cpu_s = time.perf_counter(), time.thread_time()
            try:
                return handler(event, context)
            finally:
                self._add(name_of(event), time.perf_counter() - began_s, time.thread_time() - cpu_s)

        return handle

    def sums(self) -> Mapping[str, Calls]:
        with self._summing:
            return dict(self._sums)

    def _add(self, name: str, ran_s: float, cpu_s: float) -> None:
        billed_s = math.ceil(ran_s * 1_000) / 1_000
        one = Calls(calls=1, cpu_s=cpu_s, ran_s=ran_s, billed_s=billed_s)
        with self._summing:
            self._sums[name] = self._sums.get(name, Calls()).beside(one)


def calls_in(file: Path) -> Mapping[str, Calls]:
    """What was written last; nothing before the first call."""
    if not file.exists():
        return {}
    return msgspec.json.decode(file.read_bytes(), type=dict[str, Calls])


def _ingest_name(event: Mapping[str, Any]) -> str:
    body_bytes = len(event.get("body") or "") * 3 // 4  # it comes in Base64
    return INGEST_LARGE if body_bytes > INLINE_BYTES_MAX else INGEST


def _main() -> None:
    timer, file = Timer(), Path(read_settings(FileSettings).calls_file)
    # The gateway takes it from its module; ingest's it takes as an argument.
    vars(authorizer)["handle"] = timer.timed(authorizer.handle, lambda _: AUTHORIZER)
    threading.Thread(target=keep_writing, args=(file, timer.sums), daemon=True).start()
    main(timer.timed(ingest.handle, _ingest_name))


if __name__ == "__main__":
    _main()
