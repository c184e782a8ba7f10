"""Small files beside checkpoints, in the file system that Spark writes these with."""

from collections.abc import Iterator
from contextlib import closing, contextmanager
from typing import Any, Final

from py4j.protocol import Py4JError
from pyspark.sql import SparkSession

from fleetlane.events.errors import FleetlaneError
from glue_jobs.engine.session import java_class

_PATH: Final = "org.apache.hadoop.fs.Path"


class FilesUnavailableError(FleetlaneError):
    """The file system does not answer. Trying again later may succeed."""

    reason = "files_unavailable"
    path: str
    problem: str
    sentence = "{path} cannot be read or written: {problem}"


class HadoopFiles:
    """The files of one folder, by any URL that Hadoop knows. All may raise the error above."""

    def __init__(self, session: SparkSession, folder: str) -> None:
        self._session, self._folder = session, folder

    def exists(self, name: str) -> bool:
        with self._opened(name) as (system, path):
            return bool(system.exists(path))

    def read(self, name: str) -> bytes | None:
        """What is in a file; ``None`` where there is none."""
        with self._opened(name) as (system, path):
            if not system.exists(path):
                return None
            with closing(system.open(path)) as stream:
                return bytes(stream.readAllBytes())

    def write(self, name: str, content: bytes) -> None:
        replaces = True
        with self._opened(name) as (system, path):
            stream = system.create(path, replaces)
            stream.write(bytearray(content))
            stream.close()

    def delete(self, name: str) -> None:
        """Remove a file; none is as good."""
        with_all_in_it = False
        with self._opened(name) as (system, path):
            system.delete(path, with_all_in_it)

    @contextmanager
    def _opened(self, name: str) -> Iterator[tuple[Any, Any]]:
        url, context = f"{self._folder}/{name}", self._session.sparkContext
        path = java_class(self._session, _PATH)(url)
        try:
            yield path.getFileSystem(context._jsc.hadoopConfiguration()), path  # noqa: SLF001 - no other way
        except Py4JError as problem:
            raise FilesUnavailableError(url, str(problem).splitlines()[0]) from problem
