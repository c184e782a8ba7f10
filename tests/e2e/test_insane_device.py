"""A device that sends a thousand times too much holds up nobody, and loses nothing."""

import pytest

from local.fleet.insane_device import run_insane_device
from tests.e2e.conftest import RunningPlatform

pytestmark = [pytest.mark.spark, pytest.mark.kafka, pytest.mark.localstack]

PATIENCE_S = 180.0
"""Ten seconds on this platform, and what a busy machine adds."""


def test_a_device_out_of_its_mind_is_set_aside_until_it_is_calm_and_nothing_of_it_is_lost(
    running: RunningPlatform,
) -> None:
    platform = running.platform

    insane = run_insane_device(
        platform.endpoints.api, platform.registry, seed=99, patience_s=PATIENCE_S
    )
    ledger = running.ledger_on(insane.receipts())

    assert insane.aside_after_s is not None
    assert insane.back_after_s is not None
    assert (ledger.accepted, ledger.parsed, ledger.lost) == (len(insane.sent),) * 2 + (0,)
