"""What the tests of defects put back have in common."""

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Final

from fleetlane.events.lanes import Lane
from tests.rehearsal.deployed_stage import DeployedStage
from tests.rehearsal.engine_image import JARS
from tests.rehearsal.failures import NotStartedError, RehearsalFailedError
from tests.rehearsal.messages import land
from tests.rehearsal.rehearsal import LAKE, Engine, kept_by, parsed_by, running

LAST_LINES: Final = 12

type Settings = Mapping[str, str]
type Change = Callable[[Settings], Settings]


def jar_in_front(stage: DeployedStage, pattern: str, *, of: str) -> Change:
    """One more jar in front of a job's own, uploaded as these are; ``of`` is what names them."""
    (jar,) = JARS.glob(f"*/{pattern}")
    bucket, key = stage.bucket("artifacts"), f"defects/{jar.name}"
    stage.ground.s3.upload_file(str(jar), bucket, key)
    return lambda settings: {**settings, of: f"s3://{bucket}/{key},{settings[of]}"}


def without(*endings: str) -> Change:
    """Leave out what has a name that ends so."""
    return lambda settings: {
        name: value for name, value in settings.items() if not name.endswith(endings)
    }


def cause_of_failure(engine: Engine, name: str, folder: Path, *, limit_s: float) -> str:
    """The last lines of what the rehearsal of an application says; it must fail."""
    receipts = land(engine.stage.ground, Lane.STANDARD, messages=1)
    try:
        with running(engine, name, folder) as process:
            if name == LAKE:
                kept_by(engine, receipts, process, limit_s=limit_s)
            else:
                parsed_by(engine, name, receipts, process, limit_s=limit_s)
    except (NotStartedError, RehearsalFailedError) as failure:
        return "\n".join(str(failure).splitlines()[-LAST_LINES:])
    raise AssertionError(f"{name} did its work in spite of the defect")
