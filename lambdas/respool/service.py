"""Respool: what waits in the spool goes to Kafka, the oldest minute first."""

from collections.abc import Callable

from clients.s3.spool import SpoolUnavailableError
from lambdas.respool.run import Limits, Producer, Report, Run, Spool


class Respool:
    """Brings the spool to Kafka, run by run. ``clock_s`` gives seconds that only grow.

    It remembers which objects could not go: the next run tries them last, so that any number of
    them holds up no other. Those that landed and could not be deleted it only deletes again.
    """

    def __init__(
        self, *, spool: Spool, producer: Producer, limits: Limits, clock_s: Callable[[], float]
    ) -> None:
        self._spool, self._producer = spool, producer
        self._limits, self._clock_s = limits, clock_s
        self._stuck: frozenset[str] = frozenset()
        self._landed = set[str]()

    def run(self) -> Report:
        """Land what waits, and delete what Kafka confirmed.

        Of an object that Kafka confirmed in part the rest takes its place. Ends when nothing is
        left, when a limit is reached, or when all of Kafka or S3 fails: the next run goes on. What
        is landed and not deleted, by a crash in between, is landed again with the ids it had.
        """
        until_s = self._clock_s() + self._limits.seconds
        run = Run(
            self._spool,
            self._producer,
            self._limits,
            tried_before=self._stuck,
            landed=self._landed,
            is_over=lambda: self._clock_s() >= until_s,
        )
        report = run.report
        try:
            run.delete([*self._landed])
            for some in run.pieces():
                is_over = report.objects >= self._limits.objects or self._clock_s() >= until_s
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
