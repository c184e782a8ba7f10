"""Which of several events count."""

from itertools import permutations

from readers.counting import events_that_count
from tests.readers.events import an_event


def ids(*events: object) -> list[str]:
    return [getattr(one, "id", "") for one in events]


def test_a_repeated_event_counts_once() -> None:
    counting = events_that_count([an_event("a"), an_event("b"), an_event("a")])

    assert ids(*counting) == ["a", "b"]


def test_events_that_a_replay_replaced_do_not_count_in_whatever_order_they_come() -> None:
    first = [an_event("a"), an_event("b")]
    again = an_event("a", revision=1)

    counting = [events_that_count(order) for order in permutations([*first, again])]

    assert counting == [[again]] * 6


def test_a_replay_of_one_message_leaves_those_of_others() -> None:
    other = an_event("c", rawid="m-2")

    counting = events_that_count([other, an_event("a"), an_event("a", revision=1)])

    assert ids(*counting) == ["c", "a"]


def test_one_id_in_two_streams_is_two_events() -> None:
    counting = events_that_count([an_event("a"), an_event("a", type="alarm")])

    assert len(counting) == 2
