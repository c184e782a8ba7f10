"""How a JVM runs here that lives for minutes, not for months."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final

SHORT_LIVED: Final = (
    "-XX:TieredStopAtLevel=1",
    "-XX:+UseSerialGC",
    "-XX:ReservedCodeCacheSize=240m",
)
"""Half the CPU of a start, of Spark's and of Kafka's. For tests and the laptop; what is measured
runs with all compilers, as in AWS.

With the first compiler alone a JVM keeps 48 MiB for compiled code. The jobs filled that within
eight minutes, and from then on all that was new to them was interpreted.
"""


@dataclass(frozen=True, slots=True, kw_only=True)
class SparkJvm:
    """How the JVM of an application compiles: itself, and Spark its plans; else as in AWS."""

    java_options: Sequence[str] = ()
    spark_settings: Mapping[str, str] = field(default_factory=dict)


_NO_THREAD_A_READ: Final = "-Djava.util.concurrent.ForkJoinPool.common.parallelism=2"
"""On two cores Java starts a thread for each asynchronous read of a file, hundreds for a batch of
the lake: on a busy machine each start waits for a CPU."""

_BY_VFORK: Final = "-Djdk.lang.Process.launchMechanism=VFORK"
"""Hadoop runs `chmod` for each file of a checkpoint: in 1.1 ms, where Java's own way takes 1.8."""

LAPTOP: Final = SparkJvm(
    java_options=(*SHORT_LIVED, _NO_THREAD_A_READ, _BY_VFORK),
    spark_settings={
        "spark.sql.codegen.wholeStage": "false",
        "spark.sql.codegen.factoryMode": "NO_CODEGEN",
        "spark.buffer.pageSize": "1m",  # of 4, a sorter of a few rows uses a kilobyte
        # Each broadcast and shuffle has a thread of its own, for a minute, until there are so many.
        "spark.sql.broadcastExchange.maxThreadThreshold": "8",
        "spark.sql.shuffleExchange.maxThreadThreshold": "8",
        "spark.memory.fraction": "0.3",  # at .6, what is kept of a backlog's batches fills the heap
    },
)
"""Interpreted plans: compiling one anew takes far longer than running it on a batch's few rows."""
