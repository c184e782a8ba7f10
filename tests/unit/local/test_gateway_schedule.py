import threading

from local.gateway.functions import Schedule

WITHIN_S_MAX = 30.0


class Called:
    """A function that fails the first time, and says when it was called the third time."""

    def __init__(self) -> None:
        self.calls = 0
        self.third = threading.Event()

    def __call__(self, event: dict[str, str], context: object) -> None:
        self.calls += 1
        if self.calls == 1:
            raise OSError("a fault")
        if self.calls == 3:
            self.third.set()


def test_a_function_that_fails_is_called_again() -> None:
    called = Called()
    schedule = Schedule(called, name="respool", every_s=0.001)

    schedule.start()

    assert called.third.wait(WITHIN_S_MAX)
    schedule.stop()
