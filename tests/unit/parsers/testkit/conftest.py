"""Parsers that keep their contract, and parsers that break it each in a way of its own."""

from collections.abc import Callable
from pathlib import Path

import pytest

from fleetlane.events.lanes import Lane
from fleetlane.parsers.registry import find_parser
from fleetlane.parsers.testkit.trials import Subject

type Subjects = Callable[[str], Subject]

MODULE = """
import os, time
from dataclasses import dataclass
from fleetlane.parsers.contract import MalformedMessage


class Parser:
    seen = 0

    def parse(self, message):
        {body}
"""

BODIES = {
    "good": "yield {'size': len(message)}",
    "needs-two": """
        if len(message) < 2:
            raise MalformedMessage(f"{len(message)} bytes; at least 2")
        yield {'first': message[0]}""",
    "index-error": "yield {'fourth': message[3]}",
    "not-json": "yield {'half': float('nan') if message[:1] == b'n' else 0.5}",
    "exits": """
        if message[:1] == b'x':
            os._exit(3)
        yield {'size': len(message)}""",
    "hangs": """
        while message[:1] == b'h':
            pass
        yield {'size': len(message)}""",
    "hangs-in-c": "yield {'sum': sum(range(10**12))}",
    "hash-order": "yield {'letters': list({'alpha', 'beta', 'gamma', 'delta', 'epsilon'})}",
    "clock": "yield {'at': int(time.time())}",
    "remembers": """
        Parser.seen += 1
        yield {'number': Parser.seen}""",
}


@pytest.fixture
def subject_of(tmp_path: Path) -> Subjects:
    """A subject of one of the parsers above, by its name, installed in a folder of its own."""

    def make(name: str) -> Subject:
        site, module = tmp_path / name, name.replace("-", "_")
        metadata = site / f"{module}-1.0.dist-info"
        metadata.mkdir(parents=True)
        (metadata / "METADATA").write_text(f"Name: {name}\nVersion: 1.0\n")
        entry = f"[fleetlane.parsers]\n{name} = {module}:Parser\n"
        (metadata / "entry_points.txt").write_text(entry)
        (site / f"{module}.py").write_text(MODULE.format(body=BODIES[name]))
        return Subject.bare(find_parser(f"{name}==1.0", str(site)), Lane.FAST)

    return make
