"""What Glue and EMR need before a job's first line runs: packages, Python, memory, logs, rights."""

import json
from typing import Any

import pytest

from fleetlane.events.job_arguments import HostArguments
from fleetlane.events.lake.tables import EVENTS
from fleetlane.events.lanes import LANE_LIMITS, Lane
from glue_jobs.engine.session import table_name, use_catalog
from infra.stages import WORKER_MEMORY_GIB, settings_of, stage_from
from tests.infra.engine_arguments import (
    emr_arguments,
    emr_submits,
    glue_arguments,
    glue_named_arguments,
)
from tests.infra.synthesis import POLICIES, Resource, Synthesized

APPLICATIONS = ("fast", "standard", "bulk", "slow", "lake")


def _log_groups(stage: Synthesized) -> dict[str, Resource]:
    groups = stage.resources("AWS::Logs::LogGroup", of="processing").values()
    return {str(group["Properties"].get("LogGroupName")): group for group in groups}


@pytest.mark.cdk
def test_glue_installs_packages_from_what_it_is_given_and_asks_no_index(dev: Synthesized) -> None:
    given = list(glue_named_arguments(dev))

    assert {one["--python-modules-installer-option"] for one in given} == {"--no-index"}
    assert all(one["--additional-python-modules"].endswith(".gluewheels.zip") for one in given)


@pytest.mark.cdk
def test_what_glue_logs_is_kept_as_long_as_the_stage_says(dev: Synthesized) -> None:
    groups, stage = _log_groups(dev), stage_from("dev", settings_of("dev"))

    given = list(glue_named_arguments(dev))
    written = [f"{one['--custom-logGroup-prefix']}/{name}" for one in given for name in _GLUES]
    kept = [groups[name] for name in written]

    assert len(written) == 2 * len(APPLICATIONS)
    assert {one["Properties"]["RetentionInDays"] for one in kept} == {stage.log_retention_days}
    assert {one["DeletionPolicy"] for one in kept} == {"Delete"}
    assert all("KmsKeyId" in one["Properties"] for one in kept)
    assert not any(name.startswith("--continuous-log") for one in given for name in one)


_GLUES = ("error", "output")


@pytest.mark.cdk
def test_glue_does_not_encrypt_logs_itself_for_it_then_names_their_groups(dev: Synthesized) -> None:
    [found] = dev.resources("AWS::Glue::SecurityConfiguration").values()

    logs = found["Properties"]["EncryptionConfiguration"]["CloudWatchEncryption"]

    assert logs == {"CloudWatchEncryptionMode": "DISABLED"}


@pytest.mark.cdk
def test_each_role_on_glue_may_write_glues_own_metrics_and_into_its_logs(dev: Synthesized) -> None:
    policies = [dev.resources(kind, of="processing") for kind in POLICIES]
    texts = [(name, json.dumps(one)) for found in policies for name, one in found.items()]

    of_roles = {
        application: "".join(text for name, text in texts if name.startswith(f"{application}role"))
        for application in APPLICATIONS
    }

    for text in of_roles.values():
        assert '"cloudwatch:namespace": "Glue"' in text
        assert '"logs:PutLogEvents"' in text
        assert "/aws-glue/" not in text


@pytest.mark.cdk
def test_each_engine_tells_the_jobs_their_region(dev: Synthesized, staging: Synthesized) -> None:
    given = [*glue_arguments(dev), *emr_arguments(staging)]

    regions = {HostArguments.from_argv(argv).region for argv in given}

    assert regions == {"eu-central-1"}


def _emr_settings(stage: Synthesized) -> dict[str, dict[str, str]]:
    """What spark-submit is given on EMR, by application."""
    found = {}
    for submit in emr_submits(stage):
        words = [word for word in submit["SparkSubmitParameters"].split() if word != "--conf"]
        application = HostArguments.from_argv(submit["EntryPointArguments"]).application
        found[application] = dict(word.split("=", 1) for word in words)
    return found


@pytest.mark.cdk
@pytest.mark.parametrize("process", ["spark.emr-serverless.driverEnv", "spark.executorEnv"])
def test_on_emr_driver_and_executors_run_in_the_python_environment_that_is_sent_along(
    staging: Synthesized, process: str
) -> None:
    wanted = {
        f"{process}.PYSPARK_PYTHON": "./environment/python/bin/python3.13",
        f"{process}.PYSPARK_DRIVER_PYTHON": "./environment/python/bin/python3.13",
        f"{process}.PYTHONPATH": "./environment",
    }

    given = _emr_settings(staging)

    assert len(given) == len(APPLICATIONS)
    for settings in given.values():
        assert wanted.items() <= settings.items()
        assert settings["spark.archives"].endswith("/fleetlane-environment.zip#environment")


@pytest.mark.cdk
def test_what_an_executor_on_emr_has_beside_its_heap_holds_a_parser_for_each_task(
    staging: Synthesized,
) -> None:
    for application, settings in _emr_settings(staging).items():
        lane = application.removeprefix("fleetlane-")
        parser_bytes = LANE_LIMITS[Lane(lane)].memory_bytes_max if lane in list(Lane) else 0
        heap_gib, beside_gib = (
            int(settings[f"spark.executor.{name}"].removesuffix("g"))
            for name in ("memory", "memoryOverhead")
        )

        assert heap_gib + beside_gib == WORKER_MEMORY_GIB
        assert beside_gib << 30 > int(settings["spark.executor.cores"]) * parser_bytes
        assert heap_gib >= 4


@pytest.mark.cdk
def test_on_emr_the_driver_and_all_executors_are_exactly_what_the_application_may_have(
    staging: Synthesized,
) -> None:
    found = staging.resources("AWS::EMRServerless::Application").values()
    most = sorted(str(one["Properties"]["MaximumCapacity"]["Memory"]) for one in found)

    settings = _emr_settings(staging).values()
    workers = [1 + int(one["spark.dynamicAllocation.maxExecutors"]) for one in settings]
    drivers = {
        int(one["spark.driver.memory"].removesuffix("g"))
        + int(one["spark.driver.memoryOverhead"].removesuffix("g"))
        for one in settings
    }

    assert drivers == {WORKER_MEMORY_GIB}
    assert sorted(f"{WORKER_MEMORY_GIB * count} GB" for count in workers) == most


class Conf(dict[str, str]):
    """A session's settings."""

    def set(self, name: str, value: str) -> None:
        self[name] = value


class Session:
    def __init__(self, **settings: str) -> None:
        self.conf = Conf(settings)


def test_the_lakes_catalog_is_in_the_jobs_region() -> None:
    session: Any = Session(**{"spark.executorEnv.AWS_DEFAULT_REGION": "eu-central-1"})

    use_catalog(session, warehouse="s3://lake/tables", uri=None)

    assert session.conf["spark.sql.catalog.lake.client.region"] == "eu-central-1"


def test_the_lakes_tables_are_in_the_stages_own_database() -> None:
    session: Any = Session()

    use_catalog(session, warehouse="s3://lake/tables", uri=None, database="fleetlane_dev")

    assert table_name(session, EVENTS) == "lake.fleetlane_dev.events"


def test_without_a_region_the_catalog_finds_its_own() -> None:
    session: Any = Session()

    use_catalog(session, warehouse="file:///lake", uri="jdbc:sqlite:catalog.db")

    assert not any(name.endswith(".region") for name in session.conf)
