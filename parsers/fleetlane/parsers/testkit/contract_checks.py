"""A parser against its contract: deterministic, and well-behaved with any bytes."""

import json
import math
import random
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from functools import cache
from typing import Final

from hypothesis import HealthCheck, Phase, find, settings
from hypothesis import strategies as st
from hypothesis.errors import NoSuchExample

from fleetlane.parsers.testkit.parser_process import ParserProcess
from fleetlane.parsers.testkit.trials import Finding, Outcome, Subject, Trial, shown

PURE_BODIES_MAX: Final = 200
_ANOTHER_SECOND_S: Final = 1.1
_VARIABLES: Final = {"PYTHONHASHSEED": "1", "TZ": "UTC"}
_OTHER_VARIABLES: Final = {"PYTHONHASHSEED": "2", "TZ": "Pacific/Kiritimati"}
_NOT_JSON: Final = "an event holds what JSON does not"


def purity_findings(subject: Subject, bodies: Sequence[bytes]) -> Iterator[Finding]:
    """Messages parsed twice in one process, and in another one: in reverse, in another second.

    The processes have different hash seeds and time zones. At most one finding of each kind.
    """
    trials = [Trial(body=body) for body in bodies[:PURE_BODIES_MAX]]
    with ParserProcess(subject, variables=_VARIABLES) as process:
        first, repeated = process.outcomes(trials), process.outcomes(trials)
    time.sleep(_ANOTHER_SECOND_S)  # a parser that reads a clock reads another time now
    with ParserProcess(subject, variables=_OTHER_VARIABLES) as process:
        elsewhere = process.outcomes(trials[::-1])[::-1]
    for check, others, where in (
        ("determinism", repeated, "parsed again in the same process"),
        ("purity", elsewhere, "parsed in another process, with another hash seed"),
    ):
        for trial, before, now in zip(trials, first, others, strict=True):
            if before.reason != now.reason or json.dumps(before.data) != json.dumps(now.data):
                sentence = f"{shown(trial.body)} give other events when they are {where}"
                yield Finding(check=check, sentence=sentence, body=trial.body)
                break


def mutation_findings(process: ParserProcess, sample: bytes, name: str) -> Iterator[Finding]:
    """A sample with bits flipped, parts lost and parts twice; at most one finding a reason."""
    bodies = list(dict.fromkeys(mutated(sample)))
    seen = set[str]()
    outcomes = process.outcomes([Trial(body=body) for body in bodies])
    for body, outcome in zip(bodies, outcomes, strict=True):
        sentence = _wrong(body, outcome)
        if sentence is not None and (outcome.reason or "") not in seen:
            seen.add(outcome.reason or "")
            yield Finding(check="mutated samples", sentence=f"{name}: {sentence}", body=body)


def arbitrary_findings(
    process: ParserProcess, samples: Sequence[bytes], *, examples: int
) -> Iterator[Finding]:
    """Any bytes at all, by hypothesis, made as small as can be."""
    body = first_wrong(
        lambda body: _wrong(body, process.outcome(body)) is not None,
        examples=examples,
        around=tuple(samples),
    )
    if body is not None:
        sentence = _wrong(body, process.outcome(body)) or f"{shown(body)} fail intermittently"
        yield Finding(check="arbitrary bytes", sentence=sentence, body=body)


def some_bodies(samples: Sequence[bytes]) -> list[bytes]:
    """What determinism is checked with: samples, corrupted samples, and noise."""
    chance = random.Random(0)  # noqa: S311 - noise, not secrets
    corrupted = [body for sample in samples for body in mutated(sample)]
    noise = [chance.randbytes(chance.randrange(200)) for _ in range(20)]
    chance.shuffle(corrupted)
    return [*samples, *noise, *corrupted][:PURE_BODIES_MAX]


def _wrong(body: bytes, outcome: Outcome) -> str | None:
    if not outcome.is_well_behaved:
        return f"{shown(body)} end as {outcome}; allowed: events, or MalformedMessage"
    if outcome.detail.startswith(_NOT_JSON):
        return f"{shown(body)}: {outcome.detail}"
    return None


_FLIPS_MAX = 160
_CUTS_MAX = 60
_OTHERS = 30


def mutated(sample: bytes) -> Iterator[bytes]:
    """Some 250 corrupted versions of a sample, always the same ones."""
    chance = random.Random(0)  # noqa: S311 - to corrupt, not to hide
    for bit in _spread(len(sample) * 8, _FLIPS_MAX, chance):
        flipped = bytearray(sample)
        flipped[bit // 8] ^= 1 << bit % 8
        yield bytes(flipped)
    for length in _spread(len(sample), _CUTS_MAX, chance):
        yield sample[:length]
    yield sample + sample
    for _ in range(_OTHERS if sample else 0):
        begin, end = sorted(chance.choices(range(len(sample) + 1), k=2))
        yield sample[:end] + sample[begin:]  # a part sent twice
        yield sample[:begin] + sample[end:]  # a part lost
        yield sample[:begin] + bytes(end - begin) + sample[end:]  # a part of zeros
        yield sample[:begin] + b"\xff" * (end - begin) + sample[end:]


def _spread(count: int, at_most: int, chance: random.Random) -> list[int]:
    """All numbers below ``count``, or ``at_most`` of them."""
    return sorted(chance.sample(range(count), min(count, at_most)))


_SHRINK_S_MAX: Final = 10.0
_BYTES_MAX: Final = 4096


def first_wrong(
    is_wrong: Callable[[bytes], bool], *, examples: int, around: tuple[bytes, ...] = ()
) -> bytes | None:
    """Bytes for which ``is_wrong``, made as small as ten seconds allow; ``None`` if none is found.

    Tries the same bytes each time: any at all and, of samples, their beginnings with any bytes
    behind. So a parser of messages that begin in one certain way is reached, too.
    """
    wrong, give_up_s = list[bytes](), math.inf

    @cache
    def is_found_wrong(body: bytes) -> bool:
        """Once time is up, whatever was not tried before passes: what is known stays as it is."""
        nonlocal give_up_s
        if time.monotonic() > give_up_s or not is_wrong(body):
            return False
        give_up_s = min(give_up_s, time.monotonic() + _SHRINK_S_MAX)
        wrong.append(body)
        return True

    same_each_time = settings(
        max_examples=examples,
        deadline=None,
        database=None,
        derandomize=True,
        phases=(Phase.generate, Phase.shrink),
        suppress_health_check=list(HealthCheck),
    )
    with suppress(NoSuchExample):
        find(_bodies(around), is_found_wrong, settings=same_each_time)
    return min(wrong, key=lambda one: (len(one), one), default=None)


def _bodies(around: tuple[bytes, ...]) -> st.SearchStrategy[bytes]:
    beginnings = st.sampled_from(around or (b"",)).flatmap(
        lambda sample: st.integers(0, len(sample)).map(lambda length: sample[:length])
    )
    return st.binary(max_size=_BYTES_MAX) | st.builds(
        bytes.__add__, beginnings, st.binary(max_size=64)
    )
