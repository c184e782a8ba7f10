"""Respool: what waits in the spool goes to Kafka, the oldest minute first."""

import time
from collections.abc import Callable
from dataclasses import dataclass, field

from clients.s3.spool import SpoolUnavailableError
from lambdas.respool.run import Limits, Producer, Report, Run, Spool


@dataclass(slots=True, kw_only=True)
class Respool:
    """Brings the spool to Kafka, run by run. ``clock_s`` gives seconds that only grow.

    It remembers which objects could not go: the next run tries them last, so that any number of
    them holds up no other. Those that landed and could not be deleted it only deletes again.
    """

    spool: Spool
    producer: Producer
    limits: Limits = field(default_factory=Limits)
    clock_s: Callable[[], float] = time.monotonic
    _stuck: frozenset[str] = frozenset()
    _landed: set[str] = field(default_factory=set)

    def run(self) -> Report:
        """Land what waits, and delete what Kafka confirmed.

        Of an object that Kafka confirmed in part the rest takes its place. Ends when nothing is
        left, when a limit is reached, or when all of Kafka or S3 fails: the next run goes on. What
        is landed and not deleted, by a crash in between, is landed again with the ids it had.
        """
        until_s = self.clock_s() + self.limits.seconds
        run = Run(
            spool=self.spool,
            producer=self.producer,
            limits=self.limits,
            tried_before=self._stuck,
            landed=self._landed,
            is_over=lambda: self.clock_s() >= until_s,
        )
        report = run.report
        try:
            run.delete([*self._landed])
            for some in run.pieces():
                is_over = report.objects >= self.limits.objects or self.clock_s() >= until_s
                if is_over or report.problem is not None:
                    report.left(some)
                    break
                run.redrive(some)
        except SpoolUnavailableError as problem:
            report.problem = str(problem)
        report.left(run.staying.values())
        if run.is_kafka_there:
            self._stuck = frozenset(run.staying)
        return report
