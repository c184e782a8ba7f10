"""A parser that does what its message says: as all should, or refuse, fail or take its time."""

import time
from collections.abc import Iterator, Mapping
from dataclasses import dataclass

import orjson

from fleetlane.parsers.contract import MalformedMessage

WAITS_S = {"rest": 0.02, "hang": 3_600.0}
"""Waits that take no CPU; the sandbox counts them as time all the same."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Behaving:
    """``act`` is ``refuse``, ``fail``, ``rest``, ``hang`` or a number: milliseconds of CPU time."""

    def parse(self, message: bytes) -> Iterator[Mapping[str, object]]:
        document = orjson.loads(message)
        act = document.get("act")
        if act == "refuse":
            raise MalformedMessage("act is 'refuse'; anything else is allowed")
        if act == "fail":
            raise ValueError(act)
        if act in WAITS_S:
            time.sleep(WAITS_S[act])
        elif act:
            until_s = time.thread_time() + act / 1000
            while time.thread_time() < until_s:
                pass
        began_ms = document["base"]
        for reading in document["readings"]:
            yield {**reading, "at": began_ms + reading["t"]}
