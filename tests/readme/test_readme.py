"""The README, followed to the letter in a fresh checkout by somebody who knows nothing else.

`make demo` and `make test`, which it begins with, are left out: the second runs this.
"""

import json
import shutil
import subprocess
from collections.abc import Iterator
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

import pytest

from local.checkout import ROOT
from tests.readme.fences import Fence, fences_of
from tests.readme.terminal import Terminal

pytestmark = [
    pytest.mark.spark,
    pytest.mark.kafka,
    pytest.mark.localstack,
    pytest.mark.skipif(shutil.which("curl") is None, reason="the README sends by curl, too"),
]

README: Final = (ROOT / "README.md").read_text()
ENDPOINTS: Final = Path("build/local/endpoints.json")
STAYS: Final = "./fleetlane up"
FIRST: Final = {"at": "2026-11-03T14:05:00Z", "lat": 47.37, "lon": 8.54}
BY_CURL: Final = {"at": "2026-11-03T14:06:00Z", "lat": 47.38, "lon": 8.55}
BOTH_POSITIONS: Final = "./fleetlane tail canonical.gps --from-beginning --limit 2"
FIVE_BYTES: Final = r"""
printf '\x69\x08\xb8\x55\x05' | ./fleetlane send tank - --device tank-7
./fleetlane tail parked --from-beginning --limit 1
"""


@dataclass(frozen=True, slots=True, kw_only=True)
class Visit:
    """What a newcomer saw, and what was left when they had gone.

    ``first`` and ``own`` are what was printed in the two sections that are followed, ``both`` the
    events of the first, and ``again`` the same once the platform had been started anew.
    """

    first: str
    both: str
    own: str
    five_bytes: str
    again: str
    exit_codes: tuple[int | None, ...]
    left_running: tuple[str, ...]


@pytest.fixture(scope="module")
def visit(tmp_path_factory: pytest.TempPathFactory) -> Visit:
    checkout = tmp_path_factory.mktemp("checkout").resolve()
    copy_checkout(checkout)
    terminal = Terminal(checkout, tmp_path_factory.mktemp("screen") / "up.txt")
    with ExitStack() as at_the_end:
        at_the_end.callback(shutil.rmtree, checkout / ".venv", ignore_errors=True)  # a gigabyte
        at_the_end.callback(terminal.ctrl_c)
        first = followed("Run it", checkout, terminal)
        both = terminal.run(BOTH_POSITIONS)
        exit_code = terminal.ctrl_c()
        own = followed("Your own parser and flow", checkout, terminal)
        five_bytes = terminal.run(FIVE_BYTES)
        again = terminal.run(BOTH_POSITIONS)
        exit_codes = exit_code, terminal.ctrl_c()
    return Visit(
        first=first,
        both=both,
        own=own,
        five_bytes=five_bytes,
        again=again,
        exit_codes=exit_codes,
        left_running=tuple(processes_of(checkout)),
    )


def test_the_first_message_comes_out_as_an_event(visit: Visit) -> None:
    assert data_in(visit.first) == [FIRST]


def test_what_is_sent_by_curl_comes_out_as_an_event(visit: Visit) -> None:
    assert data_in(visit.both) == [FIRST, BY_CURL]


def test_a_parser_of_ones_own_makes_events(visit: Visit) -> None:
    assert data_in(visit.own) == [{"measured_at": 0x6908B855, "share": 0.5}]


def test_what_ones_own_parser_refuses_is_parked_with_its_sentence(visit: Visit) -> None:
    assert "5 bytes; a level is 6 bytes" in visit.five_bytes


def test_the_data_is_there_at_the_next_start(visit: Visit) -> None:
    assert visit.again == visit.both


def test_ctrl_c_ends_the_platform_as_one_wishes(visit: Visit) -> None:
    assert visit.exit_codes == (0, 0)


def test_nothing_is_left_running(visit: Visit) -> None:
    assert visit.left_running == ()


def copy_checkout(target: Path) -> None:
    """What a commit of everything here would hold: a clone has neither set-up nor data."""
    git = ["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"]
    listed = subprocess.run(git, cwd=ROOT, capture_output=True, text=True, check=True)
    for name in filter(None, listed.stdout.split("\0")):
        if (ROOT / name).exists():  # else removed, but not committed yet
            (target / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy2(ROOT / name, target / name)


def followed(section: str, checkout: Path, terminal: Terminal) -> str:
    """Write the files that a section shows, type what it says, and return what was printed."""
    printed = []
    for fence in fences_of(README, section=section):
        if fence.language != "sh":
            write(fence, checkout)
        elif any(line.startswith(STAYS) for line in fence.text.splitlines()):
            terminal.start(fence.text, until_there_is=checkout / ENDPOINTS)
        else:
            printed.append(terminal.run(fence.text))
    return "".join(printed)


def write(fence: Fence, checkout: Path) -> None:
    assert fence.path is not None, f"no line above says where this belongs:\n{fence.text}"
    (checkout / fence.path).write_text(fence.text)


def data_in(printed: str) -> list[object]:
    """The data of the canonical events in what was printed."""
    return [found["data"] for found in objects_in(printed) if "data" in found]


def objects_in(printed: str) -> Iterator[dict[str, Any]]:
    decoder, at = json.JSONDecoder(), printed.find("{")
    while at >= 0:
        found, end = decoder.raw_decode(printed, at)
        yield found
        at = printed.find("{", end)


def processes_of(checkout: Path) -> list[str]:
    """The commands of all processes that have something of the checkout in them."""
    ps = ["ps", "-eo", "args"]
    listed = subprocess.run(ps, capture_output=True, text=True, check=True)
    return [line for line in listed.stdout.splitlines() if str(checkout) in line]
