"""Answers that are kept for a while."""

import threading
from concurrent.futures import ThreadPoolExecutor
from itertools import count

import pytest

from operations.console.kept import Kept


def test_many_who_ask_at_once_are_answered_by_one_question() -> None:
    kept, numbers = Kept({"kafka": 60.0}), count()
    together = threading.Barrier(8)

    def ask(_: int) -> int:
        together.wait(5)
        return kept("kafka", "status", lambda: next(numbers))

    with ThreadPoolExecutor(8) as pool:
        assert set(pool.map(ask, range(8))) == {0}


def test_an_answer_that_is_no_longer_fresh_is_asked_for_again() -> None:
    kept, numbers = Kept({"kafka": 0.0}), count()

    assert [kept("kafka", "status", lambda: next(numbers)) for _ in range(3)] == [0, 1, 2]


def test_a_question_that_failed_is_asked_again() -> None:
    kept = Kept({"kafka": 60.0})
    with pytest.raises(ZeroDivisionError):
        kept("kafka", "status", lambda: 1 // 0)

    assert kept("kafka", "status", lambda: 7) == 7


def test_only_the_newest_hundred_are_kept() -> None:
    kept, numbers = Kept({"topics": 60.0}), count()
    for key in range(101):
        kept("topics", key, lambda: next(numbers))

    assert kept("topics", 100, lambda: next(numbers)) == 100
    assert kept("topics", 0, lambda: next(numbers)) == 101


def test_a_slow_source_holds_up_no_other() -> None:
    kept, is_over = Kept({"lake": 1.0, "kafka": 1.0}), threading.Event()
    with ThreadPoolExecutor(1) as pool:
        slow = pool.submit(kept, "lake", "report", lambda: is_over.wait(5))

        assert kept("kafka", "status", lambda: 7) == 7
        is_over.set()
        assert slow.result(5)
