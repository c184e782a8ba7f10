"""What S3 draws from chance and the clock: noted with a request, and repeated at its replay.

So version ids, upload ids and modification times are the same after a restart. Draws outside a
request that is being recorded or replayed are as ever.
"""

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from datetime import datetime, tzinfo
from types import SimpleNamespace

type Draw = str | float
type _Source = Callable[[], Draw]
type _Drawing = Callable[[_Source], Draw]

_drawing: ContextVar[_Drawing] = ContextVar("drawing", default=lambda source: source())


def noted_in(draws: list[Draw]) -> _Drawing:
    """Draw, and add what was drawn to the list."""

    def draw(source: _Source) -> Draw:
        draws.append(source())
        return draws[-1]

    return draw


def repeated_from(draws: list[Draw]) -> _Drawing:
    """Draw nothing: give what the list holds, in order."""
    noted = iter(draws)
    return lambda _: next(noted)


@contextmanager
def during(draw: _Drawing) -> Iterator[None]:
    """Let ``draw`` do the drawing for the request that is handled inside, in this thread."""
    token = _drawing.set(draw)
    try:
        yield
    finally:
        _drawing.reset(token)


def install() -> None:
    """Replace S3's own sources."""
    from localstack.services.s3 import models, provider

    provider.generate_safe_version_id = _drawn(provider.generate_safe_version_id)
    models.token_urlsafe = _drawn(models.token_urlsafe)
    models.datetime = SimpleNamespace(now=_now)  # all that S3's models use of it


def _now(tz: tzinfo | None = None) -> datetime:
    return datetime.fromtimestamp(float(_drawing.get()(time.time)), tz)


def _drawn(source: Callable[..., str]) -> Callable[..., Draw]:
    return lambda *arguments: _drawing.get()(lambda: source(*arguments))
