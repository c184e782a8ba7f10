"""What S3 draws from chance and the clock: noted with a request, and drawn again at its replay.

So version ids, upload ids and modification times are the same after a restart. Without a request
that is being recorded or replayed, draws are as ever.
"""

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from datetime import datetime, tzinfo

type Draw = str | float


class Draws:
    """The draws of one request, in order; handed out again if ``given``."""

    def __init__(self, given: list[Draw] | None = None) -> None:
        self.noted: list[Draw] = []
        self._given = None if given is None else iter(given)

    def next(self, source: Callable[[], Draw]) -> Draw:
        if self._given is not None:
            return next(self._given)
        self.noted.append(source())
        return self.noted[-1]


_current: ContextVar[Draws | None] = ContextVar("draws", default=None)


@contextmanager
def during(draws: Draws) -> Iterator[None]:
    """Let ``draws`` see to the draws of the request handled inside, in this thread."""
    token = _current.set(draws)
    try:
        yield
    finally:
        _current.reset(token)


def install() -> None:
    """Put S3's own sources behind ``Draws``."""
    from localstack.services.s3 import models, provider

    provider.generate_safe_version_id = _drawn(provider.generate_safe_version_id)
    models.token_urlsafe = _drawn(models.token_urlsafe)
    models.datetime = _DrawnDatetime


class _DrawnDatetime:
    """All that S3's models ask of ``datetime``."""

    @staticmethod
    def now(tz: tzinfo | None = None) -> datetime:
        return datetime.fromtimestamp(float(_draw(time.time)), tz)


def _drawn(source: Callable[..., str]) -> Callable[..., Draw]:
    return lambda *arguments: _draw(lambda: source(*arguments))


def _draw(source: Callable[[], Draw]) -> Draw:
    draws = _current.get()
    return source() if draws is None else draws.next(source)
