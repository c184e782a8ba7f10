from pathlib import Path

import pytest

from operations.endpoints import LocalStage, LocalStageNotRunningError

STAGE = LocalStage(
    endpoint_url="http://127.0.0.1:4566",
    region="eu-central-1",
    api_url="http://127.0.0.1:4566/_aws/execute-api/a1b2/v",
)


def test_the_address_of_the_local_stage_survives_its_file(tmp_path: Path) -> None:
    STAGE.write(tmp_path / "endpoint.json")

    assert LocalStage.read(tmp_path / "endpoint.json") == STAGE


@pytest.mark.parametrize("text", [None, "", "{}"])
def test_without_a_file_of_ours_no_local_stage_runs(text: str | None, tmp_path: Path) -> None:
    path = tmp_path / "endpoint.json"
    if text is not None:
        path.write_text(text)

    with pytest.raises(LocalStageNotRunningError, match="make local-cloud KEEP=1"):
        LocalStage.read(path)
