"""Calling a function again and again, as EventBridge does."""

import sys
import threading
import traceback
from collections.abc import Callable

from local.gateway.functions import LambdaContext

type Function = Callable[[dict[str, str], object], object]

_TIMEOUT_S = 58.0


class Schedule:
    """Calls ``function`` every so many seconds in a thread of its own, one call at a time."""

    def __init__(self, function: Function, *, name: str, every_s: float) -> None:
        self._function, self._name, self._every_s = function, name, every_s
        self._over = threading.Event()
        self._thread = threading.Thread(target=self._run, name=name, daemon=True)

    def start(self) -> None:
        self._thread.start()

    def stop(self) -> None:
        """Call no more; does not wait for a call that is under way."""
        self._over.set()

    def _run(self) -> None:
        while not self._over.wait(self._every_s):
            try:
                self._function({}, LambdaContext(self._name, timeout_s=_TIMEOUT_S))
            except Exception:  # noqa: BLE001 - the edge to the function
                traceback.print_exc(file=sys.stderr)
