"""Where Spark is, and its classes as Java has read and checked them once for all starts.

An application starts with half the CPU by that. Java calls it class data sharing:
docs.oracle.com/en/java/javase/17/vm/class-data-sharing.html. It wants the jars on the paths that
the archive was made with, so all have one home. An archive that does not fit is passed over.
"""

import os
from importlib.metadata import distribution
from pathlib import Path
from typing import Final

from local.checkout import SPARK_CLASSES

CLASS_ARCHIVE: Final = SPARK_CLASSES / "spark.jsa"


def spark_home() -> Path:
    return Path(str(distribution("pyspark").locate_file("pyspark")))


def shared_spark_home() -> Path:
    """Spark's home, its archives of Python unpacked: each process would compile them."""
    home, library = SPARK_CLASSES / "home", Path("python", "lib")
    links = {home / name: spark_home() / name for name in ("bin", "jars")}
    for zipped in (spark_home() / library).glob("*.zip"):
        package = zipped.stem.partition("-")[0]
        links[home / library / zipped.name / package] = spark_home().with_name(package)
    for link, target in links.items():
        if not link.is_symlink() or link.readlink() != target:
            link.parent.mkdir(parents=True, exist_ok=True)
            fresh = link.with_name(f"{link.name}.{os.getpid()}")
            fresh.symlink_to(target)
            fresh.replace(link)
    return home


def shared_classes() -> tuple[str, ...]:
    """Java's options to start with the archive; none where the set-up has not made it."""
    return (f"-XX:SharedArchiveFile={CLASS_ARCHIVE}", "-Xlog:cds*=off") * CLASS_ARCHIVE.exists()
