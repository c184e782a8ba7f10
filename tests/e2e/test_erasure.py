"""One device is erased: what can be removed of it is, and the rest is named."""

from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import orjson
import pytest
from typer.testing import CliRunner, Result

from clients.s3.payload_bucket import PayloadBucket, payload_key
from clients.s3.upkeep_requests import UpkeepAnswer, UpkeepRequests
from fleetlane.cli.main import app
from fleetlane.events.job_arguments import LakeTables
from fleetlane.events.lanes import INLINE_BYTES_MAX
from local.data_folder import announced, taken_data_folder
from operations.endpoints import LAKE_BUCKET, PAYLOAD_BUCKET
from tests.e2e.conftest import RunningPlatform
from tests.e2e.devices import Device

pytestmark = [pytest.mark.spark, pytest.mark.kafka, pytest.mark.localstack]

LARGE = orjson.dumps({"entries": [], "filling": "x" * INLINE_BYTES_MAX})


def test_an_erased_device_is_gone_with_its_bodies_and_others_stay(
    running: RunningPlatform, tmp_path: Path
) -> None:
    platform = running.platform
    erased, other = Device.registered(platform), Device.registered(platform)
    bodies = [payload_key(one.accepted("diagnostics", LARGE).raw_id) for one in (erased, other)]

    looked = invoked(running, tmp_path, "device", "erase", erased.device_id)
    was_there = platform.registry.find(erased.device_id)
    done = invoked(running, tmp_path, "device", "erase", erased.device_id, "--yes")
    again = invoked(running, tmp_path, "device", "erase", erased.device_id, "--yes")

    assert (looked.exit_code, done.exit_code, again.exit_code) == (0, 0, 0), done.output
    assert (was_there is not None, "nothing was erased" in looked.stdout) == (True, True)
    assert platform.registry.find(erased.device_id) is None
    bucket = PayloadBucket(platform.s3, PAYLOAD_BUCKET)
    assert [bucket.has(body) for body in bodies] == [False, True]
    assert f"rows of {erased.device_id} deleted" in done.stdout
    assert "canonical.*: up to 7 days" in done.stdout


def invoked(running: RunningPlatform, folder: Path, *words: str) -> Result:
    """Run a command, with a lake job that says it did what it is asked for: there is none here."""
    s3 = running.platform.s3
    writers = [UpkeepRequests(s3, LAKE_BUCKET, tables) for tables in LakeTables]
    with (
        taken_data_folder(folder),
        announced(running.platform.endpoints, folder),
        ThreadPoolExecutor(1) as pool,
    ):
        result = pool.submit(CliRunner().invoke, app, [*words, "--data", str(folder)])
        while not result.done():
            for writer in writers:
                request = writer.waiting()
                if request is not None:
                    done = {"events": f"0 rows of {request.device_id} deleted"}
                    writer.answer(UpkeepAnswer(request_id=request.request_id, done=done))
    return result.result()
