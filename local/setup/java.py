"""Java, the one prerequisite that no package registry serves whole."""

from __future__ import annotations

import re
import shutil
from pathlib import Path

from local.setup.checkout import Checkout
from local.setup.failures import CannotSetUpError
from local.setup.tools import version_text

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


def key(checkout: Checkout) -> str:
    """Changes when java does, so that its version is asked once, not at every start."""
    java = executable(checkout)
    if java is None:
        return "missing"
    real = java.resolve()
    return f"{real} {real.stat().st_mtime_ns}"


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
        raise CannotSetUpError(f"{java} does not tell its version", REMEDY)
    if major < MAJOR_MIN:
        raise CannotSetUpError(f"{java} is Java {major}, older than {MAJOR_MIN}", REMEDY)


def major_version(text: str) -> int | None:
    """The major number in what ``java -version`` prints; 8 for the old style, 1.8."""
    found = re.search(r'version "(?:1\.)?(\d+)', text)
    return int(found.group(1)) if found else None
