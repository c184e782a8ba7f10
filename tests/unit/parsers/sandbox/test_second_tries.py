"""What fails is tried once more in a fresh child, as long as that is not all that is done."""

from fleetlane.events.token_bucket import TokenBucket
from fleetlane.parsers.sandbox.results import Verdict
from fleetlane.parsers.sandbox.worker.sandboxes import Sandboxes
from tests.unit.parsers.sandbox.conftest import Install, outcomes_of, program, run_of

ONCE_A_PROCESS = """
class OnceAProcess:
    parsed = 0

    def parse(self, message):
        OnceAProcess.parsed += 1
        if OnceAProcess.parsed > 1:
            raise ValueError("not again")
        yield {}
"""


def test_without_second_tries_left_a_failure_stands_and_nobody_is_deferred(
    install: Install,
) -> None:
    site = install("once==1.0", "once:OnceAProcess", ONCE_A_PROCESS)
    run = run_of(program("once==1.0", site), [b"", b""])
    sandboxes = Sandboxes(new_retries=lambda: TokenBucket.full(burst=1, per_s=0, now_s=0))

    found = [list(outcomes_of(sandboxes, run).verdicts.items()) for _ in range(2)]
    sandboxes.close()

    assert [sorted(one) for one in found] == [
        [(0, Verdict.OK), (1, Verdict.OK)],
        [(0, Verdict.PARSER_FAILED), (1, Verdict.PARSER_FAILED)],
    ]
