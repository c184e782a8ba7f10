"""``fleetlane doctor``: what this machine lacks, and what to do; runs before anything is set up."""

from __future__ import annotations

import dataclasses
import errno
import json
import os
import resource
import shutil
import socket
import sys
import tempfile
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Callable

from local.setup import java, packages
from local.setup.goals import cloud_steps
from local.setup.steps import Checkout, Step
from local.setup.tools import CannotSetUpError, version_text

OK, LATER, MISSING = "ok", "later", "missing"  # later: the set-up fetches it by itself
MARKS = {OK: "ok     ", LATER: "later  ", MISSING: "MISSING"}

GIB = 1 << 30
MEMORY_GIB_MIN = 4
DISK_GIB_MIN = 1
DISK_GIB_MIN_BEFORE_SET_UP = 4
OPEN_FILES_MIN = 1024
CLOCKS_APART_S_MAX = 2.0
BUILT_S = 1_760_000_000  # no clock of a machine that runs this can be before October 2025


@dataclasses.dataclass(frozen=True)
class Finding:
    """The result of one check. ``remedy`` is empty where nothing is to be done."""

    name: str
    state: str
    said: str
    remedy: str = ""


def examine(checkout: Checkout, *, clock_s: Callable[[], float]) -> Iterator[Finding]:
    """Check one thing after the other; changes nothing, and uses no network."""
    yield system(sys.platform)
    yield from programs(checkout)
    yield java_found(checkout)
    yield uv_found(checkout)
    yield python_found(checkout)
    yield disk(checkout, free_bytes=shutil.disk_usage(checkout.root).free)
    yield memory(os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES"))
    yield open_files()
    yield loopback()
    yield clock(checkout, now_s=clock_s())
    yield from map(fetched, _downloads(checkout))


def report(findings: Iterable[Finding], say: Callable[[str], None], *, as_json: bool) -> int:
    """Print the findings, as they come if for people; the exit code: 1 if something is missing."""
    reported = []
    for finding in findings:
        reported.append(finding)
        if not as_json:
            remedy = f"; {finding.remedy}" if finding.remedy else ""
            say(f"{MARKS[finding.state]} {finding.name:<11} {finding.said}{remedy}")
    missing = [finding.name for finding in reported if finding.state == MISSING]
    if as_json:
        say(json.dumps([dataclasses.asdict(finding) for finding in reported]))
    else:
        say(f"missing: {', '.join(missing)}" if missing else "nothing is missing")
    return 1 if missing else 0


def system(platform: str) -> Finding:
    return _needed("system", platform in ("linux", "darwin"), platform, "use Linux or macOS")


def programs(checkout: Checkout) -> Iterator[Finding]:
    for name in ("make", "git"):
        found = shutil.which(name, path=checkout.environment.get("PATH"))
        yield _needed(name, bool(found), found or f"{name} is not on PATH", f"install {name}")


def java_found(checkout: Checkout) -> Finding:
    try:
        java.check(checkout)
    except CannotSetUpError as error:
        return Finding("java", MISSING, error.missing, error.remedy)
    return Finding("java", OK, str(java.executable(checkout)))


def uv_found(checkout: Checkout) -> Finding:
    uv = packages.installed_uv(checkout)
    if uv is not None:
        return Finding("uv", OK, str(uv))
    if packages.has_pip():
        return Finding("uv", LATER, "not there yet", "any `make` target fetches it, by pip")
    remedy = "install pip (on Debian and Ubuntu: apt install python3-pip), or uv itself"
    return Finding("uv", MISSING, "there is neither uv nor pip, which would fetch it", remedy)


def python_found(checkout: Checkout) -> Finding:
    """The project's own Python: what the environment was made with."""
    wanted = (checkout.root / ".python-version").read_text(encoding="utf-8").strip()
    python = checkout.venv / "bin" / "python"
    version = version_text(python, ("--version",), checkout.environment).strip()
    if version.startswith(f"Python {wanted}."):
        return Finding("python", OK, version)
    there = f"{python} is {version}" if version else f"there is no Python {wanted} in .venv yet"
    return Finding("python", LATER, there, "`make environment` makes .venv, fetching Python too")


def disk(checkout: Checkout, *, free_bytes: int) -> Finding:
    is_set_up = all(step.is_current() for step in _downloads(checkout))
    gib_min = DISK_GIB_MIN if is_set_up else DISK_GIB_MIN_BEFORE_SET_UP
    said = f"{free_bytes / GIB:.1f} GiB are free in {checkout.root}; {gib_min} are needed"
    remedy = "free some; `make clean` removes what was built"
    return _needed("disk", free_bytes >= gib_min * GIB, said, remedy)


def memory(total_bytes: int) -> Finding:
    said = f"{total_bytes / GIB:.1f} GiB; {MEMORY_GIB_MIN} are needed"
    remedy = "use a larger machine; the checks alone need less"
    return _needed("memory", total_bytes >= MEMORY_GIB_MIN * GIB, said, remedy)


def open_files() -> Finding:
    soft, _ = resource.getrlimit(resource.RLIMIT_NOFILE)
    is_enough = soft == resource.RLIM_INFINITY or soft >= OPEN_FILES_MIN
    said = f"{soft} at once; {OPEN_FILES_MIN} are needed"
    return _needed("open files", is_enough, said, "run `ulimit -n 4096` first")


def loopback() -> Finding:
    """All servers listen on 127.0.0.1, and are called there."""
    remedy = "allow connections on the loopback interface, on ports 20000 to 32767"
    try:
        with socket.create_server(("127.0.0.1", 0)) as server:
            socket.create_connection(server.getsockname(), timeout=2).close()
    except OSError as error:
        cause = errno.errorcode.get(error.errno or 0, str(error))
        return Finding("loopback", MISSING, f"127.0.0.1 cannot be used: {cause}", remedy)
    return Finding("loopback", OK, "127.0.0.1 answers")


def clock(checkout: Checkout, *, now_s: float) -> Finding:
    """Tokens are dated by the clock, and make goes by the times of files."""
    if now_s < BUILT_S:
        return Finding("clock", MISSING, "it is years behind", "set it; tokens are dated by it")
    with tempfile.NamedTemporaryFile(dir=checkout.root, prefix=".clock-") as file:
        apart_s = Path(file.name).stat().st_mtime - now_s
    said = f"the file system's is {abs(apart_s):.1f} s {'ahead' if apart_s > 0 else 'behind'}"
    remedy = "set both, or use a folder on a local disk"
    return _needed("clock", abs(apart_s) <= CLOCKS_APART_S_MAX, said, remedy)


def fetched(step: Step) -> Finding:
    """What the set-up downloads, and whether it is what this checkout wants."""
    name = step.folder.name
    if step.is_current():
        return Finding(name, OK, str(step.folder))
    is_there = step.folder.is_dir() and any(step.folder.iterdir())
    said = "is of an older checkout" if is_there else "is not there yet"
    return Finding(name, LATER, f"{step.folder} {said}", f"fetched when needed: {step.title}")


def _needed(name: str, is_there: bool, said: str, remedy: str) -> Finding:  # noqa: FBT001 - private
    return Finding(name, OK, said) if is_there else Finding(name, MISSING, said, remedy)


def _downloads(checkout: Checkout) -> list[Step]:
    return [step for step in cloud_steps(checkout) if step.title]
