"""The parser that all contenders run: a message of ten readings, ten events."""

import time
from collections.abc import Iterator, Mapping
from dataclasses import dataclass

import orjson


@dataclass(frozen=True, slots=True, kw_only=True)
class Readings:
    """``loops`` is how many times a loop runs for one message: work beyond the parsing itself.

    So long it sleeps besides.
    """

    loops: int = 0
    sleep_ms: int = 0

    def parse(self, message: bytes) -> Iterator[Mapping[str, object]]:
        document = orjson.loads(message)
        total = 0
        for turn in range(self.loops):
            total += turn
        if self.sleep_ms:
            time.sleep(self.sleep_ms / 1_000)
        began_ms, firmware = document["base"], document["fw"]
        for reading in document["readings"]:
            yield {
                "at": began_ms + reading["t"],
                "name": reading["n"],
                "value": reading["v"],
                "unit": reading["u"],
                "quality": reading["q"],
                "firmware": firmware,
            }
