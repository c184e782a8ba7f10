"""Java, the one prerequisite that no package registry serves whole, and the jars that it runs.

The broker's and Spark's connector are fetched with the Ivy that pyspark ships.
"""

from __future__ import annotations

import re
import shutil
from pathlib import Path

from local.setup.steps import Checkout, Step, key_of
from local.setup.tools import CannotSetUpError, Condense, run_tool, version_text

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
    return Step(title="", folder=checkout.logs / "java", key=key, make=lambda: check(checkout))


def check(checkout: Checkout) -> None:
    """Raise ``CannotSetUpError`` where there is no java, none that answers, or one too old."""
    java = executable(checkout)
    if java is None:
        home = checkout.environment.get("JAVA_HOME")
        missing = f"no bin/java in JAVA_HOME={home}" if home else "Java is missing"
        raise CannotSetUpError(missing, REMEDY)
    major = major_version(version_text(java, ("-version",), checkout.environment))
    if major is None:
        raise CannotSetUpError(f"{java} does not report its version", REMEDY)
    if major < MAJOR_MIN:
        raise CannotSetUpError(f"{java} is Java {major}, older than {MAJOR_MIN}", REMEDY)


def major_version(text: str) -> int | None:
    """The major number in what ``java -version`` prints; 8 for the old style, 1.8."""
    found = re.search(r'version "(?:1\.)?(\d+)', text)
    return int(found.group(1)) if found else None


DEFINITION = Path(__file__).with_name("ivy.xml")
SETTINGS = Path(__file__).with_name("ivysettings.xml")
CONFIGURATIONS = ("broker", "spark", "laptop", "msk", "rehearsal")


def jars_step(checkout: Checkout) -> Step:
    """Fills build/jars, a folder a configuration; made beside it, so that no old jar is left.

    Ivy caches what it fetched in ~/.ivy2, for all checkouts; an interrupted fetch goes on there.
    """
    target, fresh = checkout.build / "jars", checkout.build / "jars.new"

    def fetch() -> None:
        shutil.rmtree(fresh, ignore_errors=True)
        pattern = f"{fresh}/[conf]/[artifact]-[revision](-[classifier]).[ext]"
        run_tool(
            "Ivy",
            [
                *(str(executable(checkout) or "java"), "-jar", str(_ivy_jar(checkout))),
                *("-settings", str(SETTINGS), "-ivy", str(DEFINITION)),
                *("-confs", *CONFIGURATIONS, "-retrieve", pattern),
            ],
            environment=checkout.environment,
            log=checkout.logs / "jars.log",
            condense=counted(),
        )
        shutil.rmtree(target, ignore_errors=True)
        fresh.rename(target)

    title = "jars of Kafka, Spark's connector and Iceberg into build/jars (about 190 MB)"
    return Step(title=title, folder=target, key=key_of([DEFINITION, SETTINGS]), make=fetch)


def classes_step(checkout: Checkout) -> Step:
    """Makes build/spark-classes hold what ``local/spark/home.py`` says, by this Java."""
    module = [str(checkout.venv / "bin" / "python"), "-m", "local.spark.class_archive"]
    log = checkout.logs / "spark-classes.log"

    def archive() -> None:
        run_tool("Spark", module, environment=checkout.environment, log=log)

    title = "Spark's classes, archived for quick starts, into build/spark-classes (some 40 s)"
    spark_key = key_of([checkout.root / "uv.lock"])
    key = f"{step(checkout).key} {spark_key}"
    return Step(title=title, folder=checkout.build / "spark-classes", key=key, make=archive)


def counted() -> Condense:
    """A line for each jar that was downloaded, numbered; nothing for one that was cached."""
    count = 0

    def condense(line: str) -> str | None:
        nonlocal count
        if "[SUCCESSFUL ]" not in line:
            return None
        count += 1
        coordinates = line.split("]", 1)[1].split("!", 1)[0].strip()
        return f"{count:3} {coordinates.partition('#')[2].replace(';', ' ')}"

    return condense


def _ivy_jar(checkout: Checkout) -> Path:
    shipped = sorted(checkout.venv.glob("lib/python*/site-packages/pyspark/jars/ivy-*.jar"))
    if not shipped:
        remedy = "remove .venv and run the same command again"
        raise CannotSetUpError("pyspark in .venv ships no Ivy", remedy)
    return shipped[-1]
