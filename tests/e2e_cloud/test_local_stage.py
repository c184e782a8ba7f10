"""The whole platform by ``cdk deploy``: devices to ledger, and flows that come later."""

import re
import time

import msgspec
import pytest

from fleetlane.events.flows.files import flows_in
from local.checkout import FLOWS
from local.cloud.local_cloud import LocalCloud
from operations.flows.publisher import ActivationRefusedError
from tests.e2e_cloud.trial import HttpsDevice, ledger_on, registry_of, run_trial

pytestmark = [pytest.mark.localstack, pytest.mark.kafka, pytest.mark.spark]

IN_FORCE_WITHIN_S = 60.0


def a_message_is_parsed(cloud: LocalCloud, stream: str) -> bool:
    """Whether one is, soon: what comes before all have read the new flows is parked."""
    device = HttpsDevice.registered(cloud.api_url, registry_of(cloud))
    began_s = time.monotonic()
    while time.monotonic() - began_s < IN_FORCE_WITHIN_S:
        receipt = device.accepted(stream)
        if ledger_on([receipt], cloud, began_s=began_s).parsed:
            return True
    return False


def test_nothing_is_lost_on_the_way_through_the_deployed_stage(cloud: LocalCloud) -> None:
    result = run_trial(cloud)

    assert (result.ledger.lost, result.ledger.invented, result.surprises) == (0, 0, ())


def test_a_second_deploy_without_a_change_changes_nothing(cloud: LocalCloud) -> None:
    printed = cloud.deploy()

    assert set(re.findall(r"^ *✅ +\S+(.*)$", printed, re.MULTILINE)) == {" (no changes)"}


def test_a_flow_that_is_published_later_takes_messages_without_a_deploy(cloud: LocalCloud) -> None:
    flows = flows_in(FLOWS)
    pollen = msgspec.structs.replace(flows["weather"], stream="pollen")

    cloud.publisher.publish([*flows.values(), pollen])

    assert a_message_is_parsed(cloud, "pollen")


def test_a_broken_version_is_refused_and_the_current_one_stays(cloud: LocalCloud) -> None:
    store, weather = cloud.publisher.flows, flows_in(FLOWS)["weather"]
    current = store.current()
    broken = store.publish([weather, weather])

    with pytest.raises(ActivationRefusedError, match="several flows for stream weather"):
        cloud.publisher.activate(broken)

    assert store.current() == current
