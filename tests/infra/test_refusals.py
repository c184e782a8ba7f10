import dataclasses
from pathlib import Path

import pytest

from fleetlane.events.flows.files import BadFlowError
from fleetlane.events.lanes import SLOW_TRIES_MAX
from infra.app import check_account
from infra.artifacts.folder import Artifacts, MissingArtifactError
from infra.constructs.functions.flow_publication import deployed_flows
from infra.constructs.stores.stores import check_payload_ttl, days_on_the_way
from infra.stages import STAGE_NAMES, Api, BadStageError, Stage, settings_of, stage_from
from tests.infra.synthesis import ROOT, run_app

pytestmark = pytest.mark.cdk

FLOW = """
stream = "{stream}"
owner = "somebody"
[[parsers]]
use = "json"
"""
REDIRECT = '[canonical]\nredirects = [{ when = "kind", equals = "alarm", to = "gps" }]\n'


def test_every_stage_of_the_table_is_complete() -> None:
    stages = [stage_from(name, settings_of(name)) for name in STAGE_NAMES]

    assert [stage.name for stage in stages] == list(STAGE_NAMES)


@pytest.mark.parametrize("field", [f.name for f in dataclasses.fields(Stage) if f.name != "name"])
def test_a_missing_setting_is_named_with_its_file_and_the_remedy(field: str) -> None:
    settings = settings_of("dev")
    del settings[field]

    with pytest.raises(BadStageError) as refused:
        stage_from("dev", settings)

    assert str(refused.value) == (
        f"infra/stages.toml: stage dev, `{field}`: is missing; add it to the table, for every stage"
    )


@pytest.mark.parametrize(
    ("account", "problem"),
    [
        (None, "is missing; if this stage belongs in 111111111111, say so"),
        ("222222222222", "is 222222222222, and your credentials are of 111111111111; use others"),
    ],
)
def test_credentials_of_another_account_cannot_deploy_a_stage(
    account: str | None, problem: str
) -> None:
    stage = stage_from("prod", settings_of("prod") | {"account": account})

    with pytest.raises(BadStageError) as refused:
        check_account(stage, "111111111111")

    assert str(refused.value) == f"infra/stages.toml: stage prod, `account`: {problem}"


@pytest.mark.parametrize(
    ("name", "account", "credentials"),
    [("prod", "1" * 12, "1" * 12), ("prod", None, None), ("dev", None, "1" * 12)],
)
def test_a_stage_is_deployed_to_its_own_account_and_one_without_data_to_any(
    name: str, account: str | None, credentials: str | None
) -> None:
    stage = stage_from(name, settings_of(name) | {"account": account})

    check_account(stage, credentials)


def test_an_unknown_setting_is_refused() -> None:
    with pytest.raises(BadStageError, match="`brokers`: is no setting"):
        stage_from("dev", settings_of("dev") | {"brokers": 3})


def test_an_unknown_stage_is_answered_with_those_that_there_are() -> None:
    with pytest.raises(BadStageError, match="local, dev, staging, prod"):
        settings_of("production")


def test_logs_are_kept_for_a_time_that_cloudwatch_knows() -> None:
    with pytest.raises(BadStageError, match="`log_retention_days`: is 10; choose one of 1, 7"):
        stage_from("dev", settings_of("dev") | {"log_retention_days": 10})


@pytest.mark.parametrize("field", ["has_firewall", "has_tracing"])
def test_what_the_http_api_does_not_have_is_refused_with_the_remedy(field: str) -> None:
    settings = settings_of("dev") | {"api": Api.HTTP, field: True}

    with pytest.raises(BadStageError) as refused:
        stage_from("dev", settings)

    assert str(refused.value) == (
        f"infra/stages.toml: stage dev, `{field}`: is on, but AWS has it for REST APIs alone; turn "
        "it off, or set `api` to rest"
    )


def test_a_setting_of_another_type_is_refused_by_its_name() -> None:
    with pytest.raises(BadStageError, match="`engine`: Invalid enum value 'athena'"):
        stage_from("dev", settings_of("dev") | {"engine": "athena"})


def test_brokers_that_take_few_logins_a_second_are_refused() -> None:
    with pytest.raises(BadStageError, match=r"`broker_type`: is t3\.small; choose one of m7g"):
        stage_from("dev", settings_of("dev") | {"broker_type": "t3.small"})


def test_a_payload_lives_longer_than_all_retentions_on_its_way() -> None:
    stages = [stage_from(name, settings_of(name)) for name in STAGE_NAMES]

    for stage in stages:
        check_payload_ttl(stage)

    notified, spooled, kept = 5, 2, 3
    bulk, slow = 2 * kept, SLOW_TRIES_MAX * 2 * kept
    assert days_on_the_way() == notified + spooled + bulk + slow


def test_a_ttl_that_is_no_longer_than_the_way_is_refused_with_the_remedy() -> None:
    stage = stage_from("prod", settings_of("prod") | {"payload_ttl_days": days_on_the_way()})

    with pytest.raises(BadStageError) as refused:
        check_payload_ttl(stage)

    assert str(refused.value) == (
        "infra/stages.toml: stage prod, `payload_ttl_days`: is 31 days, but a record may refer to "
        "a payload for 31; raise it to 32 or more"
    )


def test_the_repositorys_own_flows_do_not_collide(artifacts_folder: Path) -> None:
    deployed_flows(ROOT / "flows", Artifacts(folder=artifacts_folder))


def test_a_flow_whose_parser_was_not_built_is_refused_with_the_remedy(tmp_path: Path) -> None:
    with pytest.raises(BadFlowError) as refused:
        deployed_flows(ROOT / "flows", Artifacts(folder=tmp_path))

    assert str(refused.value).startswith(
        f"{ROOT / 'flows'}: a flow of acme-sensors names parser acme-thermo==1.2.0, which is in no "
        f"artifact below {tmp_path / 'parsers' / 'acme-sensors'}; run `make artifacts`"
    )


def test_a_deploy_without_any_flow_is_refused(tmp_path: Path) -> None:
    with pytest.raises(BadFlowError) as refused:
        deployed_flows(tmp_path, Artifacts(folder=tmp_path))

    assert str(refused.value).startswith(f"{tmp_path}: holds no flow file")


def test_a_flow_that_writes_to_anothers_topic_is_refused_with_file_and_remedy(
    tmp_path: Path,
) -> None:
    (tmp_path / "gps.toml").write_text(FLOW.format(stream="gps"))
    (tmp_path / "door.toml").write_text(FLOW.format(stream="door") + REDIRECT)

    with pytest.raises(BadFlowError) as refused:
        deployed_flows(tmp_path, Artifacts(folder=tmp_path))

    assert str(refused.value) == (
        f"{tmp_path}/door.toml: field `canonical.redirects` names 'gps', but canonical.gps is the "
        "topic of gps.toml; redirect to a name that no flow has"
    )


@pytest.mark.parametrize("file", ["host.py", "fleetlane-jobs.zip", "fleetlane-packages.zip"])
def test_a_job_without_its_artifact_is_refused(tmp_path: Path, file: str) -> None:
    artifacts = Artifacts(folder=tmp_path)

    with pytest.raises(MissingArtifactError, match="run `make artifacts` first"):
        artifacts.job_file(file)


def test_jobs_without_their_jars_are_refused(tmp_path: Path) -> None:
    (tmp_path / "jobs" / "jars").mkdir(parents=True)

    with pytest.raises(MissingArtifactError, match="/jobs/jars: run `make artifacts` first"):
        Artifacts(folder=tmp_path).jars()


@pytest.mark.parametrize(
    ("context", "sentence"),
    [
        (
            {"stage": "dev", "artifacts": "/nowhere", "flows": "tests/infra/plain_flows"},
            "there is no /nowhere/functions/ingest.zip",
        ),
        (
            {"stage": "prod", "alarm_email": ""},
            "infra/stages.toml: stage prod, `alarm_email`: is missing: alarms would reach nobody; "
            "set it, or give `-c alarm_email=ADDRESS`",
        ),
        ({"stage": "local"}, "infra/stages.toml: stage local, `kafka`: is missing"),
        ({}, "infra/stages.toml: stage , `name`: is not a stage"),
    ],
)
def test_synthesis_stops_with_one_sentence(
    tmp_path: Path, context: dict[str, str], sentence: str
) -> None:
    ended = run_app(context, tmp_path)

    assert ended.returncode == 1
    assert ended.stderr.startswith(f"error: {sentence}")
    assert "Traceback" not in ended.stderr
