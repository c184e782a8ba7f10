"""Upkeep between batches: on an operator's request, and once a day."""

import logging
from collections.abc import Callable, Mapping
from typing import Final

from clients.s3.lease import LeaseLostError
from clients.s3.upkeep_requests import (
    Upkeep,
    UpkeepAnswer,
    UpkeepRequest,
    UpkeepRequests,
)
from fleetlane.events.times import DAY_MS
from glue_jobs.lake.lease_guard import LeaseGuard

POLL_INTERVAL_S: Final = 5
UPKEEP_INTERVAL_MS: Final = DAY_MS

_log = logging.getLogger(__name__)

type Work = Callable[[], Mapping[str, str]]
type Erase = Callable[[str], Mapping[str, str]]
"""Takes a device's rows out of all tables."""


class UpkeepSchedule:
    """Does what is due, in turn with the batches."""

    def __init__(
        self,
        requests: UpkeepRequests,
        guard: LeaseGuard,
        *,
        works: Mapping[Upkeep, Work],
        erase: Erase,
        now_ms: Callable[[], int],
    ) -> None:
        self._requests, self._guard = requests, guard
        self._works, self._erase = works, erase
        self._now_ms = now_ms

    def do_due(self) -> None:
        """Do what an operator requested, and what is due; blocks while a batch has its turn.

        Raises:
            LeaseLostError: This process may write no more.
            RequestsUnavailableError: S3 does not answer.
        """
        request = self._requests.waiting()
        if request is not None:
            self._requests.answer(self._answered(request))
        last_ms = self._requests.last_scheduled_ms()
        now_ms = self._now_ms()
        if last_ms is None or now_ms - last_ms >= UPKEEP_INTERVAL_MS:
            self._requests.note_scheduled(now_ms)
            if last_ms is not None:  # a new lake needs no upkeep
                for upkeep, work in self._works.items():
                    _log.warning("%s: %s", upkeep, self._done(work))

    def _answered(self, request: UpkeepRequest) -> UpkeepAnswer:
        try:
            done = self._done(self._work_of(request))
        except LeaseLostError:
            raise
        except Exception as problem:  # noqa: BLE001 - the edge of an operator's request
            text = str(problem).partition("\n")[0]
            return UpkeepAnswer(request_id=request.request_id, problem=text)
        return UpkeepAnswer(request_id=request.request_id, done=done)

    def _work_of(self, request: UpkeepRequest) -> Work:
        device_id = request.device_id
        if device_id is None:
            return self._works[request.upkeep]
        return lambda: self._erase(device_id)

    def _done(self, work: Work) -> dict[str, str]:
        with self._guard.turn():
            return dict(work())
