from concurrent.futures import ThreadPoolExecutor

from clients.circuit_breaker import CircuitBreaker, Turn


def breaker(*, failed_ms: int | None = None) -> CircuitBreaker:
    one = CircuitBreaker(probe_every_ms=100, probe_every_ms_max=400)
    if failed_ms is not None:
        one.failed(failed_ms)
    return one


def test_whoever_comes_first_asks() -> None:
    assert breaker().turn(0) is Turn.ASK


def test_after_a_failure_nobody_asks() -> None:
    failed = breaker(failed_ms=1_000)

    assert {failed.turn(1_000), failed.turn(1_099)} == {Turn.LEAVE}


def test_one_alone_probes_and_then_ever_fewer() -> None:
    failed = breaker(failed_ms=0)

    probes = [now_ms for now_ms in range(2_000) if failed.turn(now_ms) is Turn.PROBE]

    assert probes == [100, 300, 700, 1100, 1500, 1900]


def test_a_success_lets_all_ask_again() -> None:
    failed = breaker(failed_ms=0)

    failed.succeeded()

    assert (failed.turn(1), failed.opened_ms) == (Turn.ASK, None)


def test_failures_while_it_is_open_put_no_probe_off() -> None:
    failed = breaker(failed_ms=0)

    failed.failed(99)

    assert (failed.turn(100), failed.opened_ms) == (Turn.PROBE, 0)


def test_the_next_outage_is_probed_as_soon_as_the_first_was() -> None:
    failed = breaker(failed_ms=0)
    failed.turn(100)
    failed.succeeded()

    failed.failed(1_000)

    assert failed.turn(1_100) is Turn.PROBE


def test_of_many_threads_one_probes() -> None:
    failed = breaker(failed_ms=0)

    with ThreadPoolExecutor(8) as pool:
        turns = list(pool.map(failed.turn, [100] * 200))

    assert turns.count(Turn.PROBE) == 1
