"""Where a request's time at the edge goes: each part of ingest, without what it calls of others.

In a tight loop a part's code and data are in the core's nearest caches. Where the process waits for
Kafka between two requests they are not: the difference is what that costs, part by part.
"""

import contextlib
import statistics
import time
from collections import defaultdict
from collections.abc import Callable, Iterator
from typing import Any, Final

from clients.kafka import producer, raw_producer
from clients.kafka_or_spool import KafkaOrSpool
from lambdas.http import device_request
from lambdas.http.embedded_metrics import AcceptedLine
from lambdas.http.rate_limiter import RateLimiter
from lambdas.ingest import problems, service
from lambdas.ingest.dispatcher import Dispatcher
from lambdas.ingest.intake import Intake

_PARTS: Final[tuple[tuple[str, object, str], ...]] = (
    ("route", Dispatcher, "resolve"),
    ("sender", device_request, "sender_of"),
    ("headers", device_request, "headers_in"),
    ("declared", device_request, "declared_in"),
    ("body", device_request, "body_of"),
    ("intake", Intake, "land"),
    ("rate limits", RateLimiter, "is_diverted"),
    ("landing", service.Ingest, "land_all"),
    ("message", service, "_message_of"),
    ("record", service, "raw_record"),
    ("kafka or spool", KafkaOrSpool, "land_all"),
    ("producer", producer.KafkaProducer, "land_all"),
    ("metrics", AcceptedLine, "write"),
    ("answer", problems, "receipt_answer"),
)
_KAFKA: Final[tuple[tuple[str, object, str], ...]] = (
    ("produce", producer.KafkaProducer, "_produced"),
    ("wait", producer.KafkaProducer, "_wait"),
    ("delivered", raw_producer.Delivery, "on_delivery"),
)
"""What Kafka's client does, and the wait for Kafka: the floor has them, too."""


def parts_us(request: Callable[[], object], requests: int) -> dict[str, float]:
    """Median µs of each part in a request, Kafka's client left out; of what is not called, none.

    A part's share includes a microsecond or so of being timed.
    """
    spent_us = defaultdict[str, list[float]](list)
    with _timed() as times:
        for _ in range(requests):
            times.clear()
            request()
            for name, own_us in _own_us(times).items():
                spent_us[name].append(own_us)
    floor = {name for name, _, _ in _KAFKA}
    return {
        name: round(statistics.median(all_us), 1)
        for name, all_us in spent_us.items()
        if name not in floor
    }


type _Times = list[tuple[str, bool, int]]


@contextlib.contextmanager
def _timed() -> Iterator[_Times]:
    """Have each part note when it begins and ends: its name, whether it began, nanoseconds."""
    times: _Times = []
    with contextlib.ExitStack() as stack:
        for name, owner, attribute in (*_PARTS, *_KAFKA):
            part = getattr(owner, attribute)
            stack.callback(setattr, owner, attribute, part)
            setattr(owner, attribute, _noting(part, name, times))
        yield times


def _noting(part: Callable[..., Any], name: str, times: _Times) -> Callable[..., Any]:
    def noting(*args: Any, **kwargs: Any) -> Any:
        times.append((name, True, time.perf_counter_ns()))
        result = part(*args, **kwargs)
        times.append((name, False, time.perf_counter_ns()))
        return result

    return noting


def _own_us(times: _Times) -> dict[str, float]:
    """Each part's time without that of the parts within it."""
    own_us = defaultdict[str, float](float)
    running: list[str] = []
    at_ns = 0
    for name, has_begun, now_ns in times:
        if running:
            own_us[running[-1]] += (now_ns - at_ns) / 1_000
        if has_begun:
            running.append(name)
        else:
            running.pop()
        at_ns = now_ns
    return own_us
