"""One step of a deploy's restart of a job, decided from what its runs are doing right now.

Nothing is remembered between the steps but when the deploy asked: so a step that is repeated, or a
deploy that was interrupted and runs again, does no harm.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Final

from clients.bucket_objects import BucketObjects
from clients.job_runs import EmrRuns, GlueRuns, JobRun
from fleetlane.events.errors import FleetlaneError
from fleetlane.events.s3_keys import HELD_APPLICATIONS, STARTED_MARKERS, STOP_MARKERS
from fleetlane.events.times import millis_of, rfc3339

STOP_LIMIT_MS: Final = 12 * 60_000
"""Longer than an application itself gives a batch; then its run is ended from outside."""

START_LIMIT_MS: Final = 30 * 60_000
"""Since the deploy asked, with the stop of the run before."""

FAILURES_MAX: Final = 1
"""One may be an accident, of a machine say; after the next the job goes back."""

HELD_MS: Final = 10 * 60_000
"""From the last look on nothing starts the job for so long, while the deploy changes it."""


class JobDidNotStartError(FleetlaneError):
    """A job does not run as it was deployed: the deploy fails, and goes back to what ran before."""

    job: str
    problem: str
    sentence = "job {job} does not run as deployed: {problem}; the previous version is restored"


@dataclass(frozen=True, slots=True, kw_only=True)
class Job:
    """One application: its runs, its files beside the checkpoints, and what starts a run.

    ``start`` must do nothing where a run is under way. ``name`` is as the application knows itself.
    """

    name: str
    runs: GlueRuns | EmrRuns
    files: BucketObjects
    start: Callable[[], None]

    def end(self, runs: Sequence[JobRun], *, asked_ms: int, now_ms: int) -> bool:
        """Have them end between batches; gives whether all of them have."""
        marker = f"{STOP_MARKERS}{self.name}"
        alive = [one for one in runs if one.is_alive]
        if not alive:
            self.files.delete(marker)  # or it would end the next run
            return True
        self.files.put(marker, b"")
        is_late = now_ms - asked_ms > STOP_LIMIT_MS
        for run in alive:
            fails = run.failures > FAILURES_MAX
            # One that never began, and is tried again and again, sees no file that ends it.
            if is_late or (fails and run.started_ms >= self._begun_ms()):
                self.runs.cancel(run)
        return False

    def restart(self, *, asked_ms: int, now_ms: int) -> bool:
        """Have what began before replaced; gives whether a newer run has begun all its queries.

        Raises ``JobDidNotStartError`` where it fails again and again, or takes too long.
        """
        runs = self.runs.runs()
        before = [one for one in runs if one.started_ms < asked_ms]
        if not self.end(before, asked_ms=asked_ms, now_ms=now_ms):
            return False
        newer = [one for one in runs if one.started_ms >= asked_ms]
        failures = sum(one.failures for one in newer)
        if failures > FAILURES_MAX:
            latest = max((one for one in newer if one.failures), key=lambda one: one.started_ms)
            raise JobDidNotStartError(self.name, latest.problem)
        alive = [one for one in newer if one.is_alive]
        if any(one.started_ms < self._begun_ms() for one in alive):
            return True
        if now_ms - asked_ms > START_LIMIT_MS:
            problem = f"its queries have not begun within {START_LIMIT_MS // 60_000} minutes"
            raise JobDidNotStartError(self.name, problem)
        if not alive:
            self.start()
        return False

    def rest(self, *, asked_ms: int, now_ms: int) -> bool:
        """End it, and all that its engine keeps for it; gives whether it is done."""
        runs = self.runs.runs()
        return self.end(runs, asked_ms=asked_ms, now_ms=now_ms) and self.runs.has_rested()

    def hold(self, *, now_ms: int) -> None:
        """Let nothing start it until the time in this object, which nobody needs to remove."""
        self.files.put(self._held, rfc3339(now_ms + HELD_MS).encode())

    def release(self) -> None:
        self.files.delete(self._held)

    @property
    def _held(self) -> str:
        return f"{HELD_APPLICATIONS}{self.name}"

    def _begun_ms(self) -> int:
        """When a run last said that all of its queries have begun."""
        key = f"{STARTED_MARKERS}{self.name}"
        found = (one for one in self.files.listed(key) if one["Key"] == key)
        return max((millis_of(one["LastModified"]) for one in found), default=0)
