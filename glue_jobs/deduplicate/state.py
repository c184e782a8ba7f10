"""How a query's state is kept: in RocksDB, beside the JVM's heap."""

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from types import MappingProxyType
from typing import Final

from pyspark.sql import SparkSession

_STORE: Final = "spark.sql.streaming.stateStore"
STATE_SETTINGS: Final[Mapping[str, str]] = MappingProxyType(
    {
        f"{_STORE}.providerClass": (
            "org.apache.spark.sql.execution.streaming.state.RocksDBStateStoreProvider"
        ),
        # A batch writes what it changed, not its whole state.
        f"{_STORE}.rocksdb.changelogCheckpointing.enabled": "true",
        # All states of a worker share so much, however many flows there are.
        f"{_STORE}.rocksdb.boundedMemoryUsage": "true",
        f"{_STORE}.rocksdb.maxMemoryUsageMB": "256",
    }
)
_PARTITIONS: Final = "spark.sql.shuffle.partitions"


@contextmanager
def state_kept(session: SparkSession, *, partitions: int) -> Iterator[None]:
    """What is started within keeps its state so, in so many partitions.

    A query copies the session's settings as it starts. They are set back for the others.
    """
    settings = {**STATE_SETTINGS, _PARTITIONS: str(partitions)}
    before = {name: session.conf.get(name, None) for name in settings}
    for name, value in settings.items():
        session.conf.set(name, value)
    try:
        yield
    finally:
        for name, was in before.items():
            if was is None:
                session.conf.unset(name)
            else:
                session.conf.set(name, was)
