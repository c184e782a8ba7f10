"""A parser that accepts a buffer is given its messages where they are, and cannot change them."""

from collections.abc import Callable

import pytest

from fleetlane.parsers.sandbox.in_process import InProcess
from fleetlane.parsers.sandbox.platforms import ParsesRuns
from fleetlane.parsers.sandbox.runs import Program
from fleetlane.parsers.sandbox.worker.chunks import CHUNK_BODY_BYTES
from fleetlane.parsers.sandbox.worker.sandboxes import Sandboxes
from tests.unit.parsers.sandbox.conftest import Install, Outcomes, no_time_limit, program, run_of

BUFFER_PARSER = """
class Buffers:
    accepts_buffer = True

    def parse(self, message):
        is_buffer = isinstance(message, memoryview)
        yield {"is_buffer": is_buffer, "is_read_only": message.readonly, "bytes": len(message)}
"""
SIZES = [0, 10, 20, 3 * CHUNK_BODY_BYTES, 30]

type Kind = Callable[[], ParsesRuns]


@pytest.fixture(scope="module")
def buffers(install: Install) -> Program:
    return program("buffers==1.0", install("buffers==1.0", "buffers:Buffers", BUFFER_PARSER))


@pytest.mark.parametrize("kind", [Sandboxes, InProcess])
def test_a_parser_that_accepts_a_buffer_is_given_one_whatever_its_size(
    buffers: Program, kind: Kind
) -> None:
    run, parses = run_of(buffers, [bytes(size) for size in SIZES]), kind()

    outcomes = Outcomes(run, parses.parsed(run, no_time_limit()))
    parses.close()

    assert [outcomes.events[place][0] for place in range(len(SIZES))] == [
        {"is_buffer": True, "is_read_only": True, "bytes": size} for size in SIZES
    ]


@pytest.mark.parametrize("kind", [Sandboxes, InProcess])
def test_a_parser_is_known_by_what_it_says_once_it_is_loaded(buffers: Program, kind: Kind) -> None:
    parses, programs = kind(), (buffers, program("json", None), program("nobodys==1.0", None))

    said = [parses.loaded(one, "acme").accepts_buffer for one in programs]
    parses.close()

    assert said == [True, False, False]
