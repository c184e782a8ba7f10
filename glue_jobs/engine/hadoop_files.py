"""Small files beside checkpoints, in the file system that Spark writes these with."""

from typing import Any, Final

from py4j.protocol import Py4JError
from pyspark.sql import SparkSession

from fleetlane.events.errors import FleetlaneError
from glue_jobs.engine.driver_jvm import java_class

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
        path = self._path(name)
        try:
            return bool(self._system(path).exists(path))
        except Py4JError as problem:
            raise self._unavailable(name, problem) from problem

    def read(self, name: str) -> bytes | None:
        """What is in a file; ``None`` where there is none."""
        if not self.exists(name):
            return None
        path = self._path(name)
        try:
            stream = self._system(path).open(path)
            try:
                return bytes(stream.readAllBytes())
            finally:
                stream.close()
        except Py4JError as problem:
            raise self._unavailable(name, problem) from problem

    def write(self, name: str, content: bytes) -> None:
        path, replaces = self._path(name), True
        try:
            stream = self._system(path).create(path, replaces)
            stream.write(bytearray(content))
            stream.close()
        except Py4JError as problem:
            raise self._unavailable(name, problem) from problem

    def delete(self, name: str) -> None:
        """Remove a file; none is as good."""
        path, with_all_in_it = self._path(name), False
        try:
            self._system(path).delete(path, with_all_in_it)
        except Py4JError as problem:
            raise self._unavailable(name, problem) from problem

    def _path(self, name: str) -> Any:
        return java_class(self._session, _PATH)(f"{self._folder}/{name}")

    def _system(self, path: Any) -> Any:
        context = self._session.sparkContext
        return path.getFileSystem(context._jsc.hadoopConfiguration())  # noqa: SLF001 - no other way

    def _unavailable(self, name: str, problem: Py4JError) -> FilesUnavailableError:
        return FilesUnavailableError(f"{self._folder}/{name}", str(problem).splitlines()[0])
