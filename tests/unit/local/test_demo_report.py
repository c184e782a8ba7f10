"""The report at the end of the demonstration."""

from pathlib import Path

from local.demo.report import report_written
from operations.endpoints import Endpoints

NOWHERE = Endpoints(
    api="http://127.0.0.1:1",
    kafka="127.0.0.1:1",
    s3="http://127.0.0.1:1",
    dynamodb="http://127.0.0.1:1",
    region="eu-central-1",
)


def test_a_platform_without_a_lake_has_no_report(tmp_path: Path) -> None:
    page = tmp_path / "page.html"

    is_written = report_written(NOWHERE, tmp_path, page, messages=1, patience_s=0)

    assert not is_written
    assert not page.exists()
