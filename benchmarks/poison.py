"""How fast good messages come through a lane while one in five is poison, and whether all do.

Of a hundred messages ten are malformed and nine make their parser raise, in the same flow as the
good ones; one, in another flow, never ends. Clean runs have only good ones. The lane is the
standard one, in an application of its own; what it defers comes through the slow lane afterwards.
"""

import argparse
from collections.abc import Callable, Iterator, Sequence
from itertools import cycle, islice, repeat
from pathlib import Path
from statistics import median
from typing import Final

from benchmarks.kept_numbers import write_numbers
from benchmarks.parse.workload import EVENTS, PARTITIONS
from benchmarks.running.application import running
from benchmarks.running.arguments import arguments_of, emptied
from benchmarks.running.delivered import whole_messages
from benchmarks.running.messages import (
    FAIL,
    REFUSE,
    Act,
    deploy_parser,
    flow_of,
    land_all,
    message_for,
)
from benchmarks.running.services import Services, services
from benchmarks.running.telling import tell
from benchmarks.running.watched import Watched
from fleetlane.events.envelope import Message
from fleetlane.events.topics import FLEET_PARSED, PARKED, canonical_topic

GOOD: Final = "good"
STUCK: Final = "stuck"
STUCK_MS: Final = 60_000
GOOD_TOPIC: Final = canonical_topic(GOOD)
RAW: Final = "raw.standard"
RAW_SLOW: Final = ("raw.slow", "raw.slow.over")
SECONDS_MAX: Final = 600.0
STANDARD: Final = "parse_lane --lane standard"
SLOW: Final = (
    "parse_lane --lane slow --trigger_ms 100 --messages_per_batch_max 50000 --parse_ms_max 50"
)
TOPICS: Final = (RAW, *RAW_SLOW, FLEET_PARSED, PARKED, GOOD_TOPIC, canonical_topic(STUCK))


def main() -> None:
    arguments = _arguments()
    rates: dict[str, list[float]] = {"clean": [], "poisoned": []}
    deferred = missing = 0
    with emptied(arguments.folder) as folder, services(folder) as ready:
        ready.create_topics(TOPICS, partitions=PARTITIONS)
        deploy_parser(ready)
        ready.publish([flow_of(GOOD), flow_of(STUCK, owner="others")])
        for number in range(arguments.rounds):
            for kind, of_kind in rates.items():
                endless = acts_in_turn() if kind == "poisoned" else repeat(None)
                acts = list(islice(endless, arguments.warm_up + arguments.messages))
                run = folder / f"{kind}_{number}"
                of_kind.append(good_rate(ready, run, acts, warm_up=arguments.warm_up))
                left = len(good_numbers(acts) - whole_messages(ready, GOOD_TOPIC))
                tell(f"{kind}: {of_kind[-1]:.0f} good messages/s, {left} of them deferred")
                deferred += left
                missing += lost_after_the_slow_lane(ready, run, acts, left=left) if left else 0
                ready.delete_records(TOPICS)
    numbers = {
        "good_rate_ratio": round(median(rates["poisoned"]) / median(rates["clean"]), 3),
        **{f"{kind}_good_per_s": round(median(of_kind)) for kind, of_kind in rates.items()},
        "good_messages_put_off": deferred,
        "good_messages_missing": missing,
    }
    tell(write_numbers(arguments.output, numbers))


def acts_in_turn() -> Iterator[Act]:
    """What messages do, for ever: spread evenly, so that no part of a topic is cleaner."""
    hundred: list[Act] = [None] * 100
    hundred[0::10] = [REFUSE] * 10
    hundred[5::10] = [FAIL] * 9 + [STUCK_MS]
    return cycle(hundred)


def good_numbers(messages: Sequence[Act]) -> set[int]:
    return {number for number, act in enumerate(messages) if act is None}


def good_rate(services: Services, folder: Path, acts: Sequence[Act], *, warm_up: int) -> float:
    """Land messages and let the lane do them all: good ones a second after the warm-up."""
    rows = services.end_offset(FLEET_PARSED) + len(acts)
    count = good_counter(services)
    land_all(services, map(_message, range(len(acts)), acts))
    with running(services, folder, STANDARD) as application:
        good = Watched([application], done=count, seconds_max=SECONDS_MAX)
        began = good.look_after(sum(act is None for act in acts[:warm_up]))
        ended = good.look_when(lambda: services.end_offset(FLEET_PARSED) >= rows)
    return ended.messages_a_second_since(began)


def lost_after_the_slow_lane(
    services: Services, folder: Path, acts: Sequence[Act], *, left: int
) -> int:
    """Let the slow lane parse what was deferred, and count good messages that never came out."""
    with running(services, folder / "slow", SLOW) as application:
        good = Watched([application], done=good_counter(services), seconds_max=SECONDS_MAX)
        good.look_after(left)
    return len(good_numbers(acts) - whole_messages(services, GOOD_TOPIC))


def good_counter(services: Services) -> Callable[[], float]:
    """How many good messages come out from now on."""
    before = services.end_offset(GOOD_TOPIC)
    return lambda: (services.end_offset(GOOD_TOPIC) - before) / EVENTS


def _message(number: int, act: Act) -> Message:
    stream = STUCK if act == STUCK_MS else GOOD
    return message_for(number, stream=stream, act=act)


def _arguments() -> argparse.Namespace:
    arguments = arguments_of("poison", __doc__)
    arguments.add_argument("--messages", type=int, default=300_000, help="measured, a run")
    arguments.add_argument("--warm-up", type=int, default=300_000, help="before these")
    arguments.add_argument("--rounds", type=int, default=3, help="the median of so many counts")
    return arguments.parse_args()


if __name__ == "__main__":
    main()
