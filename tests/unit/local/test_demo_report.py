"""The report at the end of the demonstration."""

from pathlib import Path

from local.demo.report import report_written
from operations.endpoints import Endpoints
from operations.ledger.reconciliation import SettlingLimits
from operations.platform import Platform

NOWHERE = Endpoints(
    api="http://127.0.0.1:1",
    kafka="127.0.0.1:1",
    s3="http://127.0.0.1:1",
    dynamodb="http://127.0.0.1:1",
    region="eu-central-1",
)


def test_a_platform_without_a_lake_has_no_report(tmp_path: Path) -> None:
    page = tmp_path / "page.html"
    limits = SettlingLimits(deadline_s=0, quiet_s=0, poll_interval_s=0)
    platform = Platform.on_laptop(NOWHERE, tmp_path)

    written = report_written(platform, page, messages=1, limits=limits)

    assert written is None
    assert not page.exists()
