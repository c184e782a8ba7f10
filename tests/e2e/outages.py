"""The outages that a platform goes through under load, by name; each is over when its block is."""

from collections.abc import Callable, Iterator, Mapping
from contextlib import AbstractContextManager, contextmanager
from typing import Final

from tests.e2e.conftest import RunningPlatform
from tests.e2e.fault_proxy import Failure
from tests.e2e.faults import frozen, stopped, without_room_for_files

type Outage = Callable[[RunningPlatform], AbstractContextManager[object]]


@contextmanager
def kafka_and_s3_away(running: RunningPlatform) -> Iterator[None]:
    with frozen(running.platform.broker), running.s3.failing(Failure.HANGS):
        yield


@contextmanager
def functions_killed(running: RunningPlatform) -> Iterator[None]:
    running.platform.gateway.kill()
    running.platform.gateway.start()
    yield


def _s3(failure: Failure) -> Outage:
    return lambda running: running.s3.failing(failure)


def _registry(failure: Failure) -> Outage:
    return lambda running: running.registry.failing(failure)


OF_KAFKA: Final[Mapping[str, Outage]] = {
    "Kafka is stopped": lambda running: stopped(running.platform.broker),
    "Kafka is frozen": lambda running: frozen(running.platform.broker),
    "Kafka's disk is full": lambda running: without_room_for_files(running.platform.broker),
}
OF_S3: Final[Mapping[str, Outage]] = {
    "S3 answers 500": _s3(Failure.ANSWERS_500),
    "S3 hangs": _s3(Failure.HANGS),
    "S3 refuses": _s3(Failure.REFUSES),
}
OF_THE_REGISTRY: Final[Mapping[str, Outage]] = {
    "the registry answers 500": _registry(Failure.ANSWERS_500),
    "the registry hangs": _registry(Failure.HANGS),
    "the registry refuses": _registry(Failure.REFUSES),
}
AT_FULL_LENGTH_ALONE: Final = frozenset({"the registry answers 500", "the registry refuses"})
OF_BOTH: Final = "Kafka is frozen and S3 hangs"
OUTAGES: Final[Mapping[str, Outage]] = {
    **OF_KAFKA,
    **OF_S3,
    **OF_THE_REGISTRY,
    OF_BOTH: kafka_and_s3_away,
    "the functions are killed": functions_killed,
}
