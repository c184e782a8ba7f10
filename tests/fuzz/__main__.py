"""One subject fuzzed in a process of its own, which has only so much memory and time a message.

``python -m tests.fuzz json --seconds 2 --seed 1``; a case that fails is told with its number, and
``--only NUMBER`` runs it alone.
"""

import argparse
import json
import math
import resource
import signal
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from itertools import count, islice
from pathlib import Path
from random import Random
from types import FrameType

import orjson

from fleetlane.events.flows.flow import EVENTS_MAX
from fleetlane.parsers.contract import MalformedMessage
from fleetlane.parsers.json_domain import DEPTH_MAX, INTEGER_MAX, INTEGER_MIN
from tests.fuzz.messages import random_message
from tests.fuzz.subjects import SUBJECTS, Parse, Subject

MEMORY_BYTES_MAX = 256 << 20
"""What the fast lane, the strictest one, lets a parser have besides what it begins with."""

CPU_S_MAX = 20.0
"""A message may take a hundredth of this in any lane; the rest is for a slow machine."""

CASES_MIN = 300
"""However busy the machine is."""

_SHOWN_BYTES_MAX = 400


class TakesForEverError(Exception):
    """A message took longer than any machine can be blamed for."""


class NotJsonError(Exception):
    """An event holds what JSON does not."""


def main() -> None:
    arguments = _arguments()
    subject = SUBJECTS[arguments.subject]()
    _limit_memory()
    signal.signal(signal.SIGPROF, _takes_for_ever)
    numbers = count() if arguments.only is None else iter([arguments.only])
    until_s = time.monotonic() + arguments.seconds
    told = {"subject": arguments.subject, "seed": arguments.seed, "parsed": 0, "malformed": 0}
    for number in numbers:
        message = _case(subject, f"{arguments.seed}/{arguments.subject}/{number}", number)
        try:
            told[_outcome(subject.parse, message)] += 1
        except BaseException:
            shown = message[:_SHOWN_BYTES_MAX].hex()
            print(f"case {number}, {len(message)} bytes: {shown}", file=sys.stderr)  # noqa: T201 - for whoever reads the test's report
            raise
        if number >= CASES_MIN and time.monotonic() > until_s:
            break
    told["memory_mib"] = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss >> 10
    print(json.dumps(told))  # noqa: T201 - what the test reads


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser()
    parser.add_argument("subject", choices=SUBJECTS)
    parser.add_argument("--seconds", type=float, default=2.0)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--only", type=int)
    return parser.parse_args()


def _case(subject: Subject, name: str, number: int) -> bytes:
    """The worst known come first."""
    if number < len(subject.worst):
        return subject.worst[number]
    pieces = [b""] if subject.is_flat else subject.pieces
    return random_message(Random(name), subject.samples, pieces)  # noqa: S311 - reproducible


def _outcome(parse: Parse, message: bytes) -> str:
    """Parse one message as the sandbox does: not more events than any flow allows."""
    signal.setitimer(signal.ITIMER_PROF, CPU_S_MAX)
    try:
        events = parse(message)
        for event in islice(events, EVENTS_MAX + 1):
            _require_json(event)
        close = getattr(events, "close", None)
        if close is not None:
            close()
    except MalformedMessage:
        return "malformed"
    finally:
        signal.setitimer(signal.ITIMER_PROF, 0)
    return "parsed"


def _require_json(event: object) -> None:
    if not isinstance(event, dict) or not _is_json(event, DEPTH_MAX):
        raise NotJsonError(f"{event!r:.400}")
    with _all_memory():
        if orjson.loads(orjson.dumps(event)) != event:
            raise NotJsonError(f"{event!r:.400} is written otherwise")


def _is_json(value: object, levels_left: int) -> bool:
    match value:
        case None | bool() | str():
            return True
        case int():
            return INTEGER_MIN <= value <= INTEGER_MAX
        case float():
            return math.isfinite(value)
        case list():
            return levels_left > 0 and all(_is_json(one, levels_left - 1) for one in value)
        case dict():
            return levels_left > 0 and all(
                isinstance(key, str) and _is_json(one, levels_left - 1)
                for key, one in value.items()
            )
        case _:
            return False


def _limit_memory() -> None:
    pages = int(Path("/proc/self/statm").read_text().split()[0])
    total = pages * resource.getpagesize() + MEMORY_BYTES_MAX
    resource.setrlimit(resource.RLIMIT_AS, (total, resource.RLIM_INFINITY))


@contextmanager
def _all_memory() -> Iterator[None]:
    """Lift the limit for what no parser does.

    orjson reserves 254 bytes for each value of a list, and ends the process where it cannot.
    """
    limits = resource.getrlimit(resource.RLIMIT_AS)
    resource.setrlimit(resource.RLIMIT_AS, (resource.RLIM_INFINITY, resource.RLIM_INFINITY))
    yield
    resource.setrlimit(resource.RLIMIT_AS, limits)


def _takes_for_ever(_signal: int, _frame: FrameType | None) -> None:
    raise TakesForEverError(f"over {CPU_S_MAX} s")


if __name__ == "__main__":
    main()
