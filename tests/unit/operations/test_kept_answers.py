"""Answers that are kept for a while."""

import threading
import time
from concurrent.futures import ThreadPoolExecutor
from itertools import count

import pytest

from clients.kafka.reader import KafkaUnreadableError
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


def test_a_stale_answer_is_given_at_once_while_the_next_is_found() -> None:
    kept, numbers = Kept({"kafka": 0.0}, old_s=60.0), count()
    is_over, is_found = threading.Event(), threading.Event()

    def slow() -> int:
        number = next(numbers)
        if number:
            is_over.wait(5)
            is_found.set()
        return number

    assert [kept("kafka", "status", slow) for _ in range(3)] == [0, 0, 0]
    is_over.set()
    assert is_found.wait(5)
    assert next(numbers) == 2, "one thread at a time finds the next"


def test_an_answer_that_is_too_old_is_waited_for() -> None:
    kept, numbers = Kept({"kafka": 0.0}, old_s=0.01), count()

    first = kept("kafka", "status", lambda: next(numbers))
    time.sleep(0.05)

    assert (first, kept("kafka", "status", lambda: next(numbers))) == (0, 1)


def test_a_refresh_that_fails_is_tried_again_and_the_stale_answer_stays() -> None:
    kept, tries = Kept({"kafka": 0.0}, old_s=60.0), threading.Semaphore(0)

    def failing() -> int:
        tries.release()
        raise KafkaUnreadableError("no answer")

    kept("kafka", "status", lambda: 7)

    for _ in range(3):
        assert kept("kafka", "status", failing) == 7
        assert tries.acquire(timeout=5)
        time.sleep(0.01)
