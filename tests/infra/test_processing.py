from collections.abc import Iterator
from dataclasses import replace
from typing import Any, Final

import pytest

from clients.job_runs import EMR_ALIVE
from fleetlane.events.job_arguments import (
    DeduplicateArguments,
    FleetMetadataArguments,
    FleetWatchArguments,
    HostArguments,
    JobArguments,
    KafkaSecurity,
    LakeArguments,
    LakeTables,
    ParseLaneArguments,
    Sandbox,
    StandingLedgerArguments,
)
from fleetlane.events.lanes import Lane
from fleetlane.events.metrics import STANDING_LEDGER
from glue_jobs.host import query_names, shared_arguments
from infra.alarms.lanes import fleet_alarms
from infra.artifacts.build import FUNCTIONS_IN_AWS, JOBS_IN_AWS
from infra.constructs.jobs import emr_engine
from infra.constructs.jobs.spark_applications import Places, spark_applications
from infra.stages import settings_of, stage_from
from tests.infra.engine_arguments import (
    emr_arguments,
    emr_submits,
    glue_arguments,
    glue_named_arguments,
    text,
)
from tests.infra.host_jobs import jobs_of
from tests.infra.synthesis import Synthesized

pytestmark = pytest.mark.cdk

PLACES = Places(
    kafka_bootstrap_servers="b-1.example:9098,b-2.example:9098",
    checkpoint_folder="s3://checkpoints",
    flows_bucket="flows",
    payload_bucket="payloads",
    parked_bucket="parked",
    lake_bucket="lake",
    spool_bucket="spool",
    registry_table="devices",
)
APPLICATIONS = {
    one.name: one for one in spark_applications(stage_from("staging", settings_of("staging")))
}


def test_what_may_be_slow_shares_no_application_with_what_must_be_fast() -> None:
    jobs = {
        name: [
            (type(job), getattr(job, "lane", getattr(job, "tables", None)))
            for job in jobs_of(one.argv(PLACES))
        ]
        for name, one in APPLICATIONS.items()
    }

    assert jobs == {
        "fast": [(ParseLaneArguments, Lane.FAST)],
        "standard": [(ParseLaneArguments, Lane.STANDARD), (FleetMetadataArguments, None)],
        "bulk": [(ParseLaneArguments, Lane.BULK)],
        "slow": [(ParseLaneArguments, Lane.SLOW)],
        "lake": [
            (DeduplicateArguments, None),
            (LakeArguments, LakeTables.EVENTS),
            (LakeArguments, LakeTables.FLEET),
            (LakeArguments, LakeTables.ARCHIVE),
            (StandingLedgerArguments, None),
            (FleetWatchArguments, None),
        ],
    }


@pytest.mark.parametrize("name", APPLICATIONS)
def test_each_job_finds_all_of_its_arguments(name: str) -> None:
    argv = APPLICATIONS[name].argv(PLACES)

    host, jobs = HostArguments.from_argv(argv), jobs_of(argv)

    assert host.application == f"fleetlane-{name}"
    for job in jobs:
        assert job.kafka_bootstrap_servers == PLACES.kafka_bootstrap_servers
        assert job.kafka_security is KafkaSecurity.IAM
        assert job.checkpoint_folder == PLACES.checkpoint_folder
        assert getattr(job, "lake_database", "fleetlane_staging") == "fleetlane_staging"


@pytest.mark.parametrize("name", APPLICATIONS)
def test_each_application_publishes_its_own_metrics_in_its_stages_namespace(name: str) -> None:
    argv = APPLICATIONS[name].argv(PLACES)

    shared = shared_arguments(HostArguments.from_argv(argv), argv)

    assert shared.metrics_namespace == "Fleetlane/staging"


@pytest.mark.parametrize("name", APPLICATIONS)
def test_an_application_knows_what_its_queries_and_checkpoints_are_named(name: str) -> None:
    application = APPLICATIONS[name]
    host = HostArguments.from_argv(application.argv(PLACES))

    names = set(query_names(host.jobs, application.argv(PLACES))) - {STANDING_LEDGER}

    assert all(one.startswith(application.queries) for one in names)
    assert all(any(one.startswith(begin) for one in names) for begin in application.queries)


def test_each_job_has_the_address_that_its_stage_sends_runs_to() -> None:
    url = "http://lineage.internal:5000"
    stage = replace(stage_from("staging", settings_of("staging")), openlineage_url=url)

    jobs = [job for one in spark_applications(stage) for job in jobs_of(one.argv(PLACES))]

    assert {(job.stage, job.openlineage_url) for job in jobs} == {("staging", url)}


def test_the_lake_knows_where_the_flows_are_that_have_views() -> None:
    lakes = [
        job for job in jobs_of(APPLICATIONS["lake"].argv(PLACES)) if isinstance(job, LakeArguments)
    ]

    assert [job.flows_bucket for job in lakes] == [PLACES.flows_bucket] * len(LakeTables)


def test_a_stage_that_archives_nothing_has_no_query_for_it() -> None:
    stage = replace(stage_from("staging", settings_of("staging")), raw_archive_days=0)
    applications = spark_applications(stage)

    queries = [
        job.tables
        for one in applications
        for job in jobs_of(one.argv(PLACES))
        if isinstance(job, LakeArguments)
    ]
    alarms = [rule.name for rule in fleet_alarms(stage)]

    assert queries == [LakeTables.EVENTS, LakeTables.FLEET]
    assert not any("archive" in name for name in alarms)


@pytest.mark.parametrize(("stage", "records"), [("dev", 200_000), ("prod", 800_000)])
def test_a_batch_of_the_lake_grows_with_the_workers_of_its_application(
    stage: str, records: int
) -> None:
    named = {one.name: one for one in spark_applications(stage_from(stage, settings_of(stage)))}

    jobs = jobs_of(named["lake"].argv(PLACES))

    sizes = {job.lake_records_per_batch_max for job in jobs if isinstance(job, LakeArguments)}
    assert sizes == {records}


@pytest.mark.parametrize(("stage", "partitions"), [("dev", 4), ("prod", 16)])
def test_a_shuffle_has_a_partition_for_each_task_that_the_workers_run(
    stage: str, partitions: int
) -> None:
    named = {one.name: one for one in spark_applications(stage_from(stage, settings_of(stage)))}

    host = HostArguments.from_argv(named["lake"].argv(PLACES))

    assert host.shuffle_partitions == partitions


def test_no_run_is_started_beside_one_of_emr_that_is_alive_or_still_ending() -> None:
    assert set(emr_engine.ALIVE) == EMR_ALIVE


_OF_A_STAGE: Final[dict[str, Any]] = {
    "workers": 1,
    "stage": "any",
    "sandbox": Sandbox.REQUIRED,
    "metrics_namespace": "Fleetlane",
    "lake_database": "fleetlane",
    "lake_trigger_ms": 300_000,
}
"""What each stage has of its own."""


def _of_any_stage(argv: list[str]) -> list[JobArguments]:
    return [
        replace(job, **{name: one for name, one in _OF_A_STAGE.items() if hasattr(job, name)})
        for job in jobs_of(argv)
    ]


def _jars_by_emr(stage: Synthesized) -> Iterator[tuple[str, list[str]]]:
    """The script, and the jars: for each application."""
    for submit in emr_submits(stage):
        words = submit["SparkSubmitParameters"].split()
        [jars] = [word for word in words if word.startswith("spark.jars=")]
        yield submit["EntryPoint"], jars.removeprefix("spark.jars=").split(",")


def _jars_by_glue(stage: Synthesized) -> Iterator[tuple[str, list[str]]]:
    jobs = stage.resources("AWS::Glue::Job").values()
    for job, arguments in zip(jobs, glue_named_arguments(stage), strict=True):
        script = text(job["Properties"]["Command"]["ScriptLocation"])
        yield script, arguments["--extra-jars"].split(",")


def test_glue_and_emr_start_the_same_jobs_with_the_same_arguments(
    dev: Synthesized, staging: Synthesized
) -> None:
    by_glue = [_of_any_stage(argv) for argv in glue_arguments(dev)]
    by_emr = [_of_any_stage(argv) for argv in emr_arguments(staging)]

    assert by_glue == by_emr
    assert [len(jobs) for jobs in by_glue] == [1, 2, 1, 1, 6]


@pytest.mark.parametrize(
    ("engine", "jars"),
    [("glue", ("connector", "login")), ("emr", ("connector", "login", "iceberg-spark-runtime"))],
)
def test_each_engine_gets_the_jars_that_it_lacks_from_beside_the_script(
    dev: Synthesized, staging: Synthesized, engine: str, jars: tuple[str, ...]
) -> None:
    given = list(_jars_by_glue(dev) if engine == "glue" else _jars_by_emr(staging))

    assert len(given) == 5
    for script, urls in given:
        folder = script.removesuffix("host.py")
        assert urls == [f"{folder}jars/{jar}-1.0.jar" for jar in jars]


def test_glues_own_connector_stands_behind_ours_and_its_own_iceberg_is_asked_for(
    dev: Synthesized,
) -> None:
    wanted = {"--user-jars-first": "true", "--datalake-formats": "iceberg"}

    given = list(glue_named_arguments(dev))

    assert len(given) == 5
    assert all(wanted.items() <= arguments.items() for arguments in given)


def test_glue_runs_each_job_once_at_a_time_on_the_version_we_test(prod: Synthesized) -> None:
    jobs = [one["Properties"] for one in prod.resources("AWS::Glue::Job").values()]

    assert [job["GlueVersion"] for job in jobs] == 5 * ["6.0"]
    assert [job["ExecutionProperty"]["MaxConcurrentRuns"] for job in jobs] == 5 * [1]
    assert {job["Command"]["Name"] for job in jobs} == {"gluestreaming"}


def test_emr_runs_each_job_once_at_a_time_on_the_release_we_test(staging: Synthesized) -> None:
    found = staging.resources("AWS::EMRServerless::Application").values()
    applications = [one["Properties"] for one in found]

    assert [one["ReleaseLabel"] for one in applications] == 5 * ["emr-spark-8.1.0"]
    assert [one["SchedulerConfiguration"]["MaxConcurrentRuns"] for one in applications] == 5 * [1]


def test_engines_and_functions_run_on_what_their_packages_are_built_for(
    staging: Synthesized,
) -> None:
    applications = staging.resources("AWS::EMRServerless::Application").values()
    functions = staging.resources("AWS::Lambda::Function", of="ingest").values()

    assert {one["Properties"]["Architecture"] for one in applications} == {JOBS_IN_AWS.name}
    assert {one["Properties"]["Architectures"][0] for one in functions} == {
        FUNCTIONS_IN_AWS.name.lower()
    }


def test_a_job_that_ended_is_started_again_however_it_ended(cloud_stage: Synthesized) -> None:
    found = cloud_stage.resources("AWS::Events::Rule", of="processing").values()
    rules = [one["Properties"] for one in found]
    ends = [rule["EventPattern"]["detail"]["state"] for rule in rules if "EventPattern" in rule]
    clocks = [rule["ScheduleExpression"] for rule in rules if "ScheduleExpression" in rule]

    assert len(ends) == 5
    assert all("FAILED" in states for states in ends)
    assert clocks == 5 * ["rate(5 minutes)"]


def test_the_fast_lane_has_all_of_its_workers_and_others_what_their_load_needs(
    prod: Synthesized, staging: Synthesized
) -> None:
    by_glue = [one["--enable-auto-scaling"] for one in glue_named_arguments(prod)]
    by_emr = ["spark.dynamicAllocation.enabled=true" in one for one in _submits(staging)]

    names = [one.name for one in spark_applications(stage_from("prod", settings_of("prod")))]
    assert names[0] == "fast"
    assert by_glue == ["false", *4 * ["true"]]
    assert by_emr == [False, *4 * [True]]
    assert "spark.executor.instances=1" in _submits(staging)[0]
    assert "spark.dynamicAllocation.maxExecutors=3" in _submits(staging)[1]


def _submits(stage: Synthesized) -> list[list[str]]:
    return [one["SparkSubmitParameters"].split() for one in emr_submits(stage)]


def test_a_run_of_glue_starts_in_another_zone_when_the_first_one_fails(prod: Synthesized) -> None:
    connections = {
        name: one["Properties"]["ConnectionInput"]["PhysicalConnectionRequirements"]
        for name, one in prod.resources("AWS::Glue::Connection").items()
    }
    jobs = [one["Properties"] for one in prod.resources("AWS::Glue::Job").values()]

    zones = [one["AvailabilityZone"] for one in connections.values()]
    assert zones == ["eu-central-1a", "eu-central-1b", "eu-central-1c"]
    assert len({str(one["SubnetId"]) for one in connections.values()}) == 3
    for job in jobs:
        assert [one["Ref"] for one in job["Connections"]["Connections"]] == list(connections)


def test_emr_may_start_a_run_in_any_zone(staging: Synthesized) -> None:
    applications = staging.resources("AWS::EMRServerless::Application").values()

    subnets = [one["Properties"]["NetworkConfiguration"]["SubnetIds"] for one in applications]
    assert [len(one) for one in subnets] == 5 * [3]


def test_glue_ends_no_two_applications_in_the_same_hour(prod: Synthesized) -> None:
    jobs = prod.resources("AWS::Glue::Job").values()

    hours = [one["Properties"]["MaintenanceWindow"] for one in jobs]
    assert sorted(hours) == [f"Sun:{hour}" for hour in range(5)]


def test_the_rights_of_a_job_outlive_what_ends_it(cloud_stage: Synthesized) -> None:
    policies = cloud_stage.resources("AWS::IAM::Policy", of="processing")
    names = ("bulkrole", "fastrole", "lakerole", "slowrole", "standardrole")
    of_jobs = {one for one in policies if one.startswith(names)}
    machines = cloud_stage.resources("AWS::StepFunctions::StateMachine", of="processing").values()

    outlived = [of_jobs & set(one.get("DependsOn", ())) for one in machines]

    assert len(of_jobs) == len(names)
    assert sorted(one for [one] in filter(None, outlived)) == sorted(of_jobs)
