"""Devices that send to a deployed stage, and the ledger of their messages."""

import time
from collections.abc import Iterable
from contextlib import closing
from dataclasses import dataclass
from typing import Final

from clients.kafka.reader import KafkaReader
from clients.s3.payload_bucket import PayloadBucket
from local.cloud.https_device import HttpsDevice
from local.cloud.local_cloud import LocalCloud
from local.simulator.sendings import FleetPlan
from local.simulator.simulator import run_fleet
from operations.ledger.evidence import LEDGER_TOPICS, Evidence
from operations.ledger.message_results import Receipt
from operations.ledger.reconciliation import Ledger, reconcile
from operations.ledger.settling import SettlingLimits, wait_until_settled

PLAN: Final = FleetPlan(devices=40, messages_per_device=2, connections=4)
"""Small: each function is as many processes as there are requests at a time."""

_SETTLING_LIMITS: Final = SettlingLimits(deadline_s=240, quiet_s=90)


@dataclass(frozen=True, slots=True, kw_only=True)
class TrialResult:
    """The ledger. ``surprises`` are answers that a device should not have received."""

    ledger: Ledger
    surprises: tuple[str, ...]


def run_trial(cloud: LocalCloud, plan: FleetPlan = PLAN) -> TrialResult:
    """Let a fleet send, and one device more by HTTPS, and wait until all has settled.

    Raises:
        MessageRefusedError: The message by HTTPS was not taken.
        RegistryUnavailableError: The devices could not be registered.
    """
    began_s = time.monotonic()
    run = run_fleet(plan, api_url=cloud.api_url, registry=cloud.registry)
    device = HttpsDevice.registered(cloud.api_url, cloud.registry)
    ledger = ledger_on([*run.receipts(), device.accepted()], cloud, began_s=began_s)
    return TrialResult(ledger=ledger, surprises=run.surprises())


def ledger_on(receipts: Iterable[Receipt], cloud: LocalCloud, *, began_s: float) -> Ledger:
    """Wait until all that was accepted has settled, and reconcile the ledger.

    ``began_s`` is when the first of it was sent, by the monotonic clock.
    """
    accepted, evidence = list(receipts), Evidence()
    with closing(KafkaReader(cloud.bootstrap_servers, pattern=LEDGER_TOPICS)) as reader:
        wait_until_settled(accepted, evidence, reader, limits=_SETTLING_LIMITS)
    payloads = PayloadBucket(cloud.s3, cloud.resources.parked_bucket)
    seconds = time.monotonic() - began_s
    return reconcile(accepted, evidence, payloads=payloads, seconds=seconds)
