from pyspark.errors import StreamingQueryException

from glue_jobs.engine.supervisor import RESTART_S, KeptQuery


class Query:
    """Runs until it is told to fail."""

    def __init__(self) -> None:
        self.isActive = True
        self.has_failed = False

    def awaitTermination(self, timeout: int | None = None) -> bool | None:  # noqa: N802 - Spark's
        if self.has_failed:
            raise StreamingQueryException("the catalog is away")
        return not self.isActive

    def stop(self) -> None:
        self.isActive = False


class Starts:
    def __init__(self) -> None:
        self.queries: list[Query] = []
        self.now_s = 0.0

    def __call__(self) -> Query:
        self.queries.append(Query())
        return self.queries[-1]

    def clock_s(self) -> float:
        return self.now_s


def test_a_query_that_runs_is_left_alone() -> None:
    starts = Starts()
    kept = KeptQuery(starts, clock_s=starts.clock_s)

    assert kept.awaitTermination(0) is False
    assert (len(starts.queries), kept.isActive) == (1, True)


def test_a_query_that_failed_is_started_again_after_a_pause() -> None:
    starts = Starts()
    kept = KeptQuery(starts, clock_s=starts.clock_s)
    starts.queries[0].has_failed = True

    kept.awaitTermination(0)
    kept.awaitTermination(0)
    at_once = len(starts.queries)
    starts.now_s = RESTART_S
    kept.awaitTermination(0)

    assert (at_once, len(starts.queries)) == (1, 2)


def test_stopping_it_stops_what_runs() -> None:
    starts = Starts()
    kept = KeptQuery(starts, clock_s=starts.clock_s)

    kept.stop()

    assert not kept.isActive
