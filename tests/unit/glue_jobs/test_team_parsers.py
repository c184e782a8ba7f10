"""Artifacts of teams in a lane: fetched when named; a broken one leaves the old in use."""

import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Final

import pytest
from msgspec.structs import replace

from clients.flows.parser_store import ArtifactUnavailableError
from clients.flows.store import CachedFlows
from fleetlane.events.flows.artifacts import FlowArtifact
from fleetlane.events.lanes import LANE_LIMITS, Lane
from fleetlane.parsers.sandbox.platforms import ParsesRuns
from glue_jobs.parse_lane.parsers.choices import ChosenParser
from glue_jobs.parse_lane.parsers.chosen_parsers import (
    BACK_OFF_S,
    EARLIER_VERSIONS_MAX,
    ChosenParsers,
)
from glue_jobs.parse_lane.parsers.programs import Programs
from tests.unit.glue_jobs.conftest import message_of
from tests.unit.glue_jobs.team_worker import FLOW, Worker, batch, team_worker

HANGS_UP: Final = "import os\nos._exit(3)\n"
NO_PARSER: Final = "class Parser: ...\n"
OTHERS: Final = """
stream = "others"
owner = "others"
[upload]
smear_s = {smear_s}
[[parsers]]
use = "json"
"""


@pytest.fixture
def worker(tmp_path: Path) -> Iterator[Worker]:
    with team_worker(tmp_path) as worker:
        yield worker


def test_two_versions_of_one_parser_run_in_two_flows_of_one_batch(
    worker: Worker, sandboxes: ParsesRuns
) -> None:
    worker.deploy("tank==1.0")
    worker.deploy("tank==2.0")
    worker.publish(old="tank==1.0", new="tank==2.0")

    versions, told = batch(worker.lane(sandboxes), "old", "new", "old")

    assert sorted(map(str, versions)) == ["1.0", "1.0", "2.0"]
    assert {(one.stream, one.parser) for one in told} == {("old", "tank@1.0"), ("new", "tank@2.0")}


def test_a_new_artifact_is_used_from_the_next_batch_on_without_a_restart(
    worker: Worker, sandboxes: ParsesRuns
) -> None:
    worker.deploy("tank==1.0")
    worker.publish(tank="tank==1.0")
    lane = worker.lane(sandboxes)
    before, _ = batch(lane, "tank")
    worker.deploy("tank==1.1")

    worker.publish(tank="tank==1.1")

    assert (before, batch(lane, "tank")[0]) == (["1.0"], ["1.1"])


@pytest.mark.parametrize("code", [HANGS_UP, NO_PARSER, "1 / 0", "import nothing_like_it"])
def test_an_artifact_that_cannot_be_loaded_leaves_the_one_before_in_use(
    worker: Worker, sandboxes: ParsesRuns, code: str
) -> None:
    worker.deploy("tank==1.0")
    worker.publish(tank="tank==1.0")
    worker.deploy("tank==1.1", code)
    worker.publish(tank="tank==1.1")

    versions, (told,) = batch(worker.lane(sandboxes), "tank")  # a worker that never saw 1.0

    assert versions == ["1.0"]
    assert (told.outcome, told.parser, told.instead_of) == ("parsed", "tank@1.0", "tank==1.1")


def test_an_artifact_that_was_changed_leaves_the_one_before_in_use_and_is_logged_once(
    worker: Worker, sandboxes: ParsesRuns, caplog: pytest.LogCaptureFixture
) -> None:
    worker.deploy("tank==1.0")
    worker.publish(tank="tank==1.0")
    spoil(worker, "tank==1.1")
    lane = worker.lane(sandboxes)

    results = [batch(lane, "tank", "tank") for _ in range(2)]

    assert [versions for versions, _ in results] == [["1.0", "1.0"]] * 2
    assert [record.levelname for record in caplog.records] == ["ERROR"]
    assert "parser tank==1.1 of stream tank cannot be used" in caplog.text
    assert "tank@1.0" in caplog.text


def test_the_last_of_several_versions_that_works_is_used(
    worker: Worker, sandboxes: ParsesRuns
) -> None:
    worker.deploy("tank==1.0")
    worker.publish(tank="tank==1.0")
    for version in ("1.1", "1.2"):
        worker.deploy(f"tank=={version}", NO_PARSER)
        worker.publish(tank=f"tank=={version}")

    versions, _ = batch(worker.lane(sandboxes), "tank")

    assert versions == ["1.0"]


def test_what_other_owners_publish_leaves_the_one_before_in_use(
    worker: Worker, sandboxes: ParsesRuns
) -> None:
    worker.deploy("tank==1.0")
    worker.publish(tank="tank==1.0")
    worker.deploy("tank==1.1", "1 / 0")
    own = FLOW.format(stream="tank", use="tank==1.1")
    for smear_s in range(2 * EARLIER_VERSIONS_MAX):
        worker.publish_files(own, OTHERS.format(smear_s=smear_s))

    versions, _ = batch(worker.lane(sandboxes), "tank")

    assert versions == ["1.0"]


@pytest.mark.parametrize("blocked_before", [True, False])
def test_a_flow_that_blocks_is_left_to_no_version_in_which_it_did_not(
    worker: Worker, sandboxes: ParsesRuns, *, blocked_before: bool
) -> None:
    flow, blocks = (
        FLOW.format(stream="tank", use="tank==1.{}"),
        'topic = "stream"\non_failure = "block"\n',
    )
    worker.deploy("tank==1.0")
    worker.publish_files((blocks if blocked_before else "") + flow.format(0))
    worker.deploy("tank==1.1", "1 / 0")
    worker.publish_files(blocks + flow.format(1))
    limits = LANE_LIMITS[Lane.STANDARD]
    parsers = ChosenParsers(
        flows=CachedFlows(worker.flows, max_age_s=0),
        earlier=worker.published,
        programs=Programs(folders=worker.cache(), sandboxes=sandboxes, limits=limits),
        limits=limits,
        of_blocking_flow=True,
    )

    choice = parsers.chosen(message_of(b"x", stream="tank"))

    assert isinstance(choice, ChosenParser)
    assert choice.assignment.flow.blocks
    assert choice.instead_of == ("tank==1.1" if blocked_before else None)


def test_without_an_older_one_its_messages_go_the_way_of_a_failure(
    worker: Worker, sandboxes: ParsesRuns
) -> None:
    worker.deploy("tank==1.1", "1 / 0")
    worker.publish(tank="tank==1.1")

    _, (told,) = batch(worker.lane(sandboxes), "tank")

    assert (told.outcome, told.reason, told.parser) == ("diverted", "parser_failed", "tank@1.1")


def test_a_parser_that_is_available_again_is_used_again(
    worker: Worker, sandboxes: ParsesRuns
) -> None:
    worker.deploy("tank==1.0")
    worker.publish(tank="tank==1.0")
    lane = worker.lane(sandboxes)
    batch(lane, "tank")
    worker.deploy("tank==1.1")
    worker.publish(tank="tank==1.1")

    worker.is_down = True
    in_the_outage, _ = batch(lane, "tank")
    worker.is_down = False
    worker.now_s += BACK_OFF_S
    after_it, _ = batch(lane, "tank")

    assert (in_the_outage, after_it) == (["1.0"], ["1.1"])


def test_workers_of_one_machine_that_want_the_same_at_once_fetch_it_once(worker: Worker) -> None:
    worker.deploy("tank==1.0")
    artifact = worker.parsers.offering("acme", "tank==1.0")
    assert artifact is not None
    together, found = threading.Barrier(4), list[Path]()

    def fetch() -> None:
        together.wait()
        found.append(worker.cache().folder_of(artifact))

    threads = [threading.Thread(target=fetch) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()

    assert found == [worker.folder / "cache" / f"acme-{artifact.sha256}"] * 4
    assert sorted(one.name for one in (worker.folder / "cache").iterdir()) == [
        found[0].name,
        *(f"{found[0].name}.{suffix}" for suffix in ("compiled", "fetching", "lock", "zip")),
    ]
    assert worker.asked == ["tank==1.0"]


def _overwrite(folder: Path) -> None:
    """Write into a parser's module, as another parser of the same user could."""
    module = next(folder.glob("*.py"))
    module.chmod(0o600)
    module.write_bytes(module.read_bytes().replace(b"1.0", b"6.6"))


def _add_module(folder: Path) -> None:
    folder.chmod(0o700)
    (folder / "json.py").write_text("raise SystemExit\n")


def _change_what_was_compiled(folder: Path) -> None:
    compiled = next(folder.rglob("*.pyc"))
    compiled.chmod(0o600)
    compiled.write_bytes(compiled.read_bytes().replace(b"1.0", b"6.6"))


def _link_to_elsewhere(folder: Path) -> None:
    module = next(folder.glob("*.py"))
    elsewhere = folder.parent / "elsewhere.py"
    elsewhere.write_bytes(module.read_bytes())
    folder.chmod(0o700)
    module.unlink()
    module.symlink_to(elsewhere)


@pytest.mark.parametrize(
    "spoil", [_overwrite, _add_module, _change_what_was_compiled, _link_to_elsewhere]
)
def test_an_artifact_that_was_written_into_where_it_is_unpacked_is_fetched_again_before_it_runs(
    worker: Worker, sandboxes: ParsesRuns, spoil: Callable[[Path], None]
) -> None:
    worker.deploy("tank==1.0")
    worker.publish(tank="tank==1.0")
    artifact = worker.parsers.offering("acme", "tank==1.0")
    assert artifact is not None
    cache = worker.cache()
    spoil(cache.folder_of(artifact))

    versions, _ = batch(worker.lane(sandboxes), "tank")

    assert versions == ["1.0"]
    assert worker.asked == ["tank==1.0"] * 2


def test_no_file_of_an_unpacked_artifact_can_be_written(worker: Worker) -> None:
    worker.deploy("tank==1.0")
    artifact = worker.parsers.offering("acme", "tank==1.0")
    assert artifact is not None

    folder = worker.cache().folder_of(artifact)

    modes = {one.stat().st_mode & 0o222 for one in (folder, *folder.rglob("*"))}
    assert modes == {0}
    assert list(folder.rglob("*.pyc"))


def deployed(worker: Worker, *versions: str) -> list[FlowArtifact]:
    for version in versions:
        worker.deploy(f"tank=={version}")
    found = [worker.parsers.offering("acme", f"tank=={version}") for version in versions]
    return list(filter(None, found))


def bytes_kept(worker: Worker) -> int:
    files = (worker.folder / "cache").rglob("*")
    return sum(one.stat().st_size for one in files if one.is_file())


def test_what_no_worker_uses_makes_room(worker: Worker) -> None:
    first, second, third = deployed(worker, "1.0", "1.1", "1.2")
    held = worker.cache().folder_of(first)
    other_user = worker.cache(bytes_max=4 * bytes_kept(worker))

    unused = other_user.folder_of(second)
    other_user.release_all()
    newest = other_user.folder_of(third)

    assert [folder.is_dir() for folder in (held, unused, newest)] == [True, False, True]


def test_where_what_is_in_use_leaves_no_room_nothing_is_fetched(worker: Worker) -> None:
    first, second = deployed(worker, "1.0", "1.1")
    worker.cache().folder_of(first)
    other_user = worker.cache(bytes_max=4 * bytes_kept(worker) - 1)

    with pytest.raises(ArtifactUnavailableError, match=r"in use have \d+ bytes; the limit is"):
        other_user.folder_of(second)

    assert worker.asked == ["tank==1.0"]


def test_an_owner_whose_artifacts_are_all_in_use_leaves_room_for_those_of_others(
    worker: Worker,
) -> None:
    first, second = deployed(worker, "1.0", "1.1")
    worker.cache().folder_of(first)
    other_user = worker.cache(bytes_max=3 * bytes_kept(worker))

    with pytest.raises(ArtifactUnavailableError, match=r"in use have \d+ bytes; the limit is"):
        other_user.folder_of(second)

    assert other_user.folder_of(replace(second, owner="others")).is_dir()


def test_tidying_up_what_a_worker_left_behind_spares_the_artifact_beside_it(worker: Worker) -> None:
    first, second = deployed(worker, "1.0", "1.1")
    user = worker.cache()
    folder = user.folder_of(first)
    user.release_all()
    folder.with_suffix(".left_behind").mkdir()
    user.folder_of(second)

    user.folder_of(first)

    assert worker.asked == ["tank==1.0", "tank==1.1"]


def test_what_fails_half_way_is_not_left_behind(worker: Worker) -> None:
    artifact = FlowArtifact(owner="acme", use="tank==1", key="parsers/acme/x", sha256="0" * 64)
    worker.is_down = True

    with pytest.raises(ArtifactUnavailableError):
        worker.cache().folder_of(artifact)

    assert not [one for one in (worker.folder / "cache").iterdir() if one.is_dir()]


def spoil(worker: Worker, pin: str) -> None:
    """Publish an artifact, then let other bytes take its place, as no command does."""
    worker.deploy(pin)
    name, _, version = pin.partition("==")
    worker.publish(**{name: pin})
    worker.parsers._s3.put_object(
        Bucket="flows", Key=f"parsers/acme/{name}/{version}.zip", Body=b"other bytes"
    )
