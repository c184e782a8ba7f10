"""Deploys over jobs that run by ``spark-submit``, driven by the templates' own state machines.

``tests/infra/deploys`` has what is in the place of CloudFormation and of an engine's job API; here
time is that of the wall, checkpoints are in S3, and a run is a process. Two of the five
applications are deployed, as many as two cores bear.
"""

import json
import re
import sys
import threading
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Final

from fleetlane.events.lanes import Lane
from fleetlane.events.s3_keys import STARTED_MARKERS
from fleetlane.events.times import now_ms
from infra.constructs.jobs.spark_applications import APPLICATION_PREFIX
from infra.constructs.stores.uploads import JOBS_CODE
from local.servers.processes import ServerProcess
from operations.ledger.message_results import Receipt
from operations.ledger.reconciliation import Ledger
from tests.infra.deploys.cloud_formation import Stack
from tests.infra.deploys.world import World, code_of
from tests.rehearsal.deployed_stage import DeployedStage, Ground
from tests.rehearsal.emr import Emr
from tests.rehearsal.glue import Glue
from tests.rehearsal.messages import land, reckon
from tests.rehearsal.templates import StageTemplates

NEW: Final = "00000000000000ab"
BROKEN: Final = "00000000000000ba"
SAYS_NEW: Final = "the newer version runs"
_OTHERS: Final = re.compile("fast|slow|bulk", re.IGNORECASE)
_SEND_INTERVAL_S: Final = 5.0


class WallClock:
    """Real time, for a world that waits."""

    @property
    def now(self) -> datetime:
        return datetime.fromtimestamp(now_ms() / 1_000, tz=UTC)

    @property
    def now_ms(self) -> int:
        return now_ms()

    def pass_(self, seconds: float) -> None:
        time.sleep(seconds)


@dataclass
class Run:
    """A run's process, as an engine sees it; ``ended_ms`` is when that was seen."""

    application: str
    code: str
    process: ServerProcess
    ended_ms: int | None = None

    def poll(self) -> int | None:
        code = self.process.exit_code
        if code is not None and self.ended_ms is None:
            self.ended_ms = now_ms()
        return code

    def terminate(self) -> None:
        self.process.kill()


@dataclass
class Deploys:
    """A stage that versions are deployed to. ``versions`` start the runs of each code."""

    stack: Stack
    world: World
    versions: Mapping[str, Glue | Emr]
    runs: list[Run] = field(default_factory=list)

    def deploy(self, code: str) -> str:
        """Deploy a version; gives why it failed and went back, or nothing."""
        return self.stack.deploy(_template(self.versions[code].stage))

    def running(self, application: str) -> Run:
        """The one run of it that is alive."""
        name = f"{APPLICATION_PREFIX}{application}"
        (found,) = (run for run in self.runs if run.application == name and run.poll() is None)
        return found

    def away_s(self, application: str) -> float:
        """How long none of its queries ran, when a run was last replaced by one that has begun."""
        name = f"{APPLICATION_PREFIX}{application}"
        ended_ms = max(run.ended_ms or 0 for run in self.runs if run.application == name)
        found = self.world.bucket.head_object(
            Bucket=self.world.bucket_name, Key=f"{STARTED_MARKERS}{name}"
        )
        return float(found["LastModified"].timestamp() - ended_ms / 1_000)


@contextmanager
def deploys_of(engine: Glue | Emr, folder: Path) -> Iterator[Deploys]:
    """A stage with nothing deployed yet, a newer version of it and a broken one."""
    old = code_of_stage(engine.stage)
    versions = {
        old: engine,
        NEW: _changed(engine, NEW, f"print({SAYS_NEW!r}, flush=True)"),
        BROKEN: _changed(engine, BROKEN, "raise ImportError('this version is broken')"),
    }
    runs: list[Run] = []

    def start(given: Mapping[str, Any]) -> Run:
        name, code = code_of(given)
        short = name.removeprefix(APPLICATION_PREFIX)
        place = folder / f"{short}-{len(runs)}"
        runs.append(Run(name, code, versions[code].started(short, place)))
        return runs[-1]

    world = World(
        is_glue=isinstance(engine, Glue),
        start=start,
        clock=WallClock(),
        bucket=engine.stage.ground.s3,
        bucket_name=engine.stage.bucket("checkpoints"),
        tick_s=1,
    )
    world.engine.provision_s = 0
    if isinstance(engine, Glue):
        world.engine.counts_s = 0
    resources = _template(engine.stage)["Resources"]
    (waiter,) = (
        name
        for name, one in resources.items()
        if name.startswith("RestartsCall") and one["Type"] == "AWS::StepFunctions::StateMachine"
    )
    try:
        yield Deploys(Stack(world, waiter=waiter), world, versions, runs)
    finally:
        for run in runs:
            run.process.kill()


@dataclass(frozen=True, slots=True, kw_only=True)
class Deployed:
    """What came of a first deploy, of a newer version, and of one that does not start."""

    failed: Sequence[str]
    away_s: Mapping[str, float]
    codes: Mapping[str, str]
    says_new: bool
    ledger: Ledger


def deployed_over_running_jobs(
    engine: Glue | Emr, folder: Path, *, applications: Sequence[str], limit_s: float
) -> Deployed:
    """Deploy three versions, the second while messages come, and reckon after the last."""
    with deploys_of(engine, folder) as deploys:
        failed = [deploys.deploy(code_of_stage(engine.stage))]
        with sending(engine.stage.ground, Lane.STANDARD) as receipts:
            failed.append(deploys.deploy(NEW))
            away_s = {name: deploys.away_s(name) for name in applications}
            for name, seconds in away_s.items():
                sys.stdout.write(f"\n{name} was away for {seconds:.0f} s")
            receipts.extend(land(engine.stage.ground, Lane.STANDARD, messages=3))
        failed.append(deploys.deploy(BROKEN))
        ledger = reckon(engine.stage, receipts, within_s=limit_s, has_lake=True)
        alive = [deploys.running(name) for name in applications]
        logs = [run.process.log_path.read_text(errors="replace") for run in alive]
    return Deployed(
        failed=failed,
        away_s=away_s,
        codes=dict(zip(applications, (run.code for run in alive), strict=True)),
        says_new=all(SAYS_NEW in log for log in logs),
        ledger=ledger,
    )


@contextmanager
def sending(ground: Ground, lane: Lane) -> Iterator[list[Receipt]]:
    """Land messages every few seconds, in a thread of its own, and gather their receipts."""
    receipts: list[Receipt] = []
    is_over = threading.Event()

    def send() -> None:
        while not is_over.wait(_SEND_INTERVAL_S):
            receipts.extend(land(ground, lane, messages=3))

    thread = threading.Thread(target=send, daemon=True)
    thread.start()
    try:
        yield receipts
    finally:
        is_over.set()
        thread.join()


def code_of_stage(stage: DeployedStage) -> str:
    """The folder of its jobs' code."""
    found = re.search(rf"{JOBS_CODE}([0-9a-f]{{16}})/", json.dumps(_template(stage)))
    assert found is not None
    return found[1]


def _template(stage: DeployedStage) -> Mapping[str, Any]:
    """What makes the jobs run. What is left out stays in the order, as nothing."""
    (path,) = stage.templates.folder.glob("*-processing.template.json")
    resources = json.loads(path.read_text())["Resources"]
    nothing = {"Type": "LeftOut"}
    return {
        "Resources": {
            name: one | nothing if _OTHERS.search(name) else one for name, one in resources.items()
        }
    }


def _changed(engine: Glue | Emr, code: str, first_line: str) -> Glue | Emr:
    """The same stage with other code: uploaded, and in templates, as a deploy of it has them."""
    stage, old = engine.stage, code_of_stage(engine.stage)
    folder = stage.templates.folder.with_name(f"{stage.templates.folder.name}-{code}")
    folder.mkdir(exist_ok=True)
    for path in stage.templates.folder.glob("*.template.json"):
        (folder / path.name).write_text(path.read_text().replace(old, code))
    bucket, s3 = stage.bucket("artifacts"), stage.ground.s3
    pages = s3.get_paginator("list_objects_v2")
    for page in pages.paginate(Bucket=bucket, Prefix=f"{JOBS_CODE}{old}/"):
        for one in page["Contents"]:
            body = s3.get_object(Bucket=bucket, Key=one["Key"])["Body"].read()
            if one["Key"].endswith("/host.py"):
                body = f"{first_line}\n".encode() + body
            s3.put_object(Bucket=bucket, Key=one["Key"].replace(old, code), Body=body)
    templates = StageTemplates(folder, stage.templates.attributes)
    return replace(engine, stage=replace(stage, templates=templates))
