"""Java, the one prerequisite that no package registry serves whole."""

from __future__ import annotations

import re
import shutil
from pathlib import Path

from local.setup.steps import Checkout, Step
from local.setup.tools import CannotSetUpError, version_text

MAJOR_MIN = 17
REMEDY = (
    f"install Java {MAJOR_MIN} or newer (on Debian: apt install openjdk-{MAJOR_MIN}-jre-headless)"
    " or point JAVA_HOME at it, and run the same command again"
)


def executable(checkout: Checkout) -> Path | None:
    """The java that Spark would take: JAVA_HOME's, else the first on PATH."""
    home = checkout.environment.get("JAVA_HOME")
    if home:
        java = Path(home) / "bin" / "java"
        return java if java.is_file() else None
    found = shutil.which("java", path=checkout.environment.get("PATH"))
    return Path(found) if found else None


def step(checkout: Checkout) -> Step:
    """Checks Java again when it is another file, so that not every start asks for its version."""
    java = executable(checkout)
    real = None if java is None else java.resolve()
    key = "missing" if real is None else f"{real} {real.stat().st_mtime_ns}"
    folder = checkout.logs / "java"
    return Step(title="", folder=folder, key=key, make=lambda: check(checkout))


def check(checkout: Checkout) -> None:
    """Ask java for its version.

    Raises:
        CannotSetUpError: There is none, it does not answer, or it is too old.
    """
    java = executable(checkout)
    if java is None:
        home = checkout.environment.get("JAVA_HOME")
        raise CannotSetUpError(
            f"no bin/java in JAVA_HOME={home}" if home else "Java is missing", REMEDY
        )
    major = major_version(version_text(java, ("-version",), checkout.environment))
    if major is None:
        raise CannotSetUpError(f"{java} does not report its version", REMEDY)
    if major < MAJOR_MIN:
        raise CannotSetUpError(f"{java} is Java {major}, older than {MAJOR_MIN}", REMEDY)


def major_version(text: str) -> int | None:
    """The major number in what ``java -version`` prints; 8 for the old style, 1.8."""
    found = re.search(r'version "(?:1\.)?(\d+)', text)
    return int(found.group(1)) if found else None
