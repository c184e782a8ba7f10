"""Small files beside checkpoints: by what each was written, and which streams are deduped."""

import logging
from collections.abc import Iterator, Mapping, Sequence, Set
from contextlib import closing, contextmanager
from dataclasses import dataclass, field, replace
from typing import Any, Final, Protocol

import msgspec
from py4j.protocol import Py4JError
from pyspark.sql import SparkSession

from fleetlane.events.errors import FleetlaneError
from glue_jobs.engine.session import java_class

_PLAN: Final = "plan.json"
_DEDUPED: Final = "deduplicated.json"
_log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True, kw_only=True)
class CheckpointPlan:
    """What of a query its checkpoint depends on.

    ``cluster`` is Kafka's own name for itself, ``None`` where it did not answer just then;
    ``topics`` has by name its own ids of what the query reads: a topic made anew has another.
    ``state`` names what a query keeps between batches, and changes whenever that does. Progress is
    written beside the batches (``is_async``), between them, or between those of real time.
    """

    spark: str
    is_async: bool
    is_real_time: bool = False
    cluster: str | None = None
    topics: Mapping[str, str] = field(default_factory=dict)
    state: str = ""


class PlanChangedError(FleetlaneError):
    """A query is not what its checkpoint was written by, and cannot go on from there."""

    checkpoint: str
    problem: str
    sentence = (
        "checkpoint {checkpoint} cannot be taken up: {problem}; start the query as"
        " it was, or move the checkpoint away and have its topics read from their beginning"
    )


class Files(Protocol):
    """The folder of the checkpoints, with what is in each; ``HadoopFiles`` is one."""

    def names(self, folder: str) -> Sequence[str]: ...
    def read(self, name: str) -> bytes | None: ...
    def write(self, name: str, content: bytes) -> None: ...
    def delete(self, name: str) -> None: ...


def note_plan(files: Files, query: str, plan: CheckpointPlan) -> None:
    """Write down by what a checkpoint is written from now on. One without a note is taken as it is.

    Topics made anew since are read from their beginning: old offsets say nothing about them.
    Raises ``PlanChangedError`` where the checkpoint cannot take it.
    """
    name = f"{query}/{_PLAN}"
    note = files.read(name)
    before = plan if note is None else msgspec.json.decode(note, type=CheckpointPlan)
    for problem in _problems(before, plan):
        raise PlanChangedError(query, problem)
    anew = {name for name, id_ in plan.topics.items() if before.topics.get(name, id_) != id_}
    topics = {**before.topics, **plan.topics}
    plan = replace(plan, cluster=plan.cluster or before.cluster, topics=topics)
    has_gaps = before.is_async and not plan.is_async
    if plan.is_real_time or has_gaps or anew:
        close_gaps(files, query)
    if anew:
        _log.warning("%s reads from its beginning what was made anew: %s", query, sorted(anew))
        _forget(files, query, anew)
    if note is None or plan != before:
        files.write(name, msgspec.json.encode(plan))


def close_gaps(files: Files, query: str) -> None:
    """Let any checkpoint be taken up by a query that writes progress between its batches.

    It begins after the last batch that is in both logs, but looks for the offsets of the batch
    before it too, which progress beside the batches may have left out. They are not used: those of
    the last one do. Batches begun later are forgotten, and their records come again, as after a
    crash: in real time a batch's end is not known before, so none can be repeated as it was.
    """
    offsets, commits = _batches(files, f"{query}/offsets"), _batches(files, f"{query}/commits")
    done = max(offsets & commits, default=-1)
    if done > 0 and done - 1 not in offsets:
        last = files.read(f"{query}/offsets/{done}")
        assert last is not None, "it was listed"
        files.write(f"{query}/offsets/{done - 1}", last)
    for log, batches in ("commits", commits), ("offsets", offsets):
        for batch in sorted(batches, reverse=True):
            if batch > done:  # a commit without offsets is of a run that had not ended yet
                files.delete(f"{query}/{log}/{batch}")


def _forget(files: Files, query: str, topics: Set[str]) -> None:
    """Take topics out of the offsets that a query begins with, once its gaps are closed.

    A file of them has a line for its format, one about the batch, and one a source.
    """
    for batch in sorted(_batches(files, f"{query}/offsets"))[-2:]:
        name = f"{query}/offsets/{batch}"
        *head, source = (files.read(name) or b"").split(b"\n")
        kept = {one: at for one, at in msgspec.json.decode(source).items() if one not in topics}
        files.write(name, b"\n".join((*head, msgspec.json.encode(kept))))


def _batches(files: Files, folder: str) -> set[int]:
    return {int(name) for name in files.names(folder) if name.isdecimal()}


def _problems(before: CheckpointPlan, now: CheckpointPlan) -> Iterator[str]:
    if now.cluster is not None and before.cluster not in (None, now.cluster):
        yield f"it has offsets of Kafka cluster {before.cluster}, and this is {now.cluster}"
    if _version(before.spark) > _version(now.spark):
        yield f"Spark {before.spark} wrote it, and this is {now.spark}, which is older"
    if before.state != now.state:
        yield f"it keeps {before.state or 'no state'}, and the query {now.state or 'none'}"


def _version(text: str) -> tuple[int, ...]:
    """Major and minor: a checkpoint's format does not change between patches."""
    return tuple(int(number) for number in text.split(".")[:2])


class DedupedStreams:
    """Remembered beside the checkpoints, so that both are lost together or not at all.

    One process writes it. Both methods raise ``FilesUnavailableError`` as ``HadoopFiles`` does.
    """

    def __init__(self, files: Files) -> None:
        self._files = files

    def windows_s(self) -> Mapping[str, int]:
        """Each such stream, with the window that it had last."""
        note = self._files.read(_DEDUPED)
        return {} if note is None else msgspec.json.decode(note, type=dict[str, int])

    def remember(self, windows_s: Mapping[str, int]) -> None:
        self._files.write(_DEDUPED, msgspec.json.encode(dict(windows_s), order="deterministic"))


class FilesUnavailableError(FleetlaneError):
    """The file system does not answer. Trying again later may succeed."""

    path: str
    problem: str
    sentence = "{path} cannot be read or written: {problem}"


class HadoopFiles:
    """The files of one folder, by any URL that Hadoop knows. All may raise the error above."""

    def __init__(self, session: SparkSession, folder: str) -> None:
        self._session, self._folder = session, folder

    def names(self, folder: str) -> Sequence[str]:
        """The names of the files in a folder; none where there is no such folder."""
        with self._opened(folder) as (system, path):
            if not system.exists(path):
                return ()
            return [str(found.getPath().getName()) for found in system.listStatus(path)]

    def read(self, name: str) -> bytes | None:
        with self._opened(name) as (system, path):
            if not system.exists(path):
                return None
            with closing(system.open(path)) as stream:
                return bytes(stream.readAllBytes())

    def write(self, name: str, content: bytes) -> None:
        """Put a file in place whole: one cut short, by a full disk say, would never be taken up.

        An object of S3 is there once its stream was closed; elsewhere a file is renamed.
        """
        replaces = True
        with self._opened(name) as (system, path):
            is_object = str(system.getUri().getScheme()).startswith("s3")
            beside = path if is_object else path.suffix(".new")
            stream = system.create(beside, replaces)
            stream.write(bytearray(content))
            stream.close()
            if not is_object:  # a FileSystem's own rename replaces nothing in HDFS
                files = java_class(self._session, "org.apache.hadoop.fs.FileContext")
                context = files.getFileContext(system.getUri(), system.getConf())
                context.rename(beside, path, self._overwriting())

    def _overwriting(self) -> Any:
        rename = java_class(self._session, "org.apache.hadoop.fs.Options$Rename")
        gateway = self._session.sparkContext._gateway  # noqa: SLF001 - no other way
        assert gateway is not None, "a session has one"
        options = gateway.new_array(rename, 1)
        options[0] = rename.OVERWRITE
        return options

    def delete(self, name: str) -> None:
        """Remove a file; none is as good."""
        with_all_in_it = False
        with self._opened(name) as (system, path):
            system.delete(path, with_all_in_it)

    @contextmanager
    def _opened(self, name: str) -> Iterator[tuple[Any, Any]]:
        url, context = f"{self._folder}/{name}", self._session.sparkContext
        path = java_class(self._session, "org.apache.hadoop.fs.Path")(url)
        try:
            yield path.getFileSystem(context._jsc.hadoopConfiguration()), path  # noqa: SLF001 - no other way
        except Py4JError as problem:
            raise FilesUnavailableError(url, str(problem).splitlines()[0]) from problem
