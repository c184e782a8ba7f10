"""What a parser's process has to read to run: the interpreter, libraries, and what they ask for."""

import os
import sys
import sysconfig
from collections.abc import Iterator
from typing import Final

from fleetlane.parsers.sandbox.jail.landlock import READ, READ_DIR, READ_FILE, WRITE_FILE

_OF_THE_SYSTEM: Final = (
    *("/lib", "/lib64", "/usr/lib", "/usr/lib64", "/usr/local/lib", "/etc/ld.so.cache"),
    *("/usr/share/zoneinfo", "/usr/share/locale", "/etc/localtime"),
    *("/dev/urandom", "/dev/random", "/dev/zero", "/proc/cpuinfo", "/proc/meminfo"),
    *("/sys/devices/system/cpu", "/sys/devices/system/node"),
)
_INSTALLED_IN: Final = ("site-packages", "dist-packages")


def readable_paths(library_path: str) -> list[tuple[str, int]]:
    """Each with the rights there. ``library_path`` is where the loader finds libraries."""
    prefixes = {sys.prefix, sys.base_prefix, sys.exec_prefix, sysconfig.get_path("stdlib")}
    whole = {*_OF_THE_SYSTEM, *(one for one in prefixes if one not in ("/", "/usr"))}
    whole.update(filter(os.path.isabs, library_path.split(":")))
    paths = [(one, READ) for one in sorted(whole)]
    for entry in sys.path:
        paths += _of_modules(entry)
    return [*paths, ("/dev/null", READ_FILE | WRITE_FILE)]


def _of_modules(entry: str) -> Iterator[tuple[str, int]]:
    """What can be imported from a place; not what else is there, as a job's folder has secrets."""
    if os.path.basename(entry) in _INSTALLED_IN or not os.path.isdir(entry):  # noqa: PTH119, PTH112
        yield entry, READ
        return
    yield entry, READ_DIR
    with os.scandir(entry) as found:
        for one in found:
            stem, suffix = os.path.splitext(one.name)  # noqa: PTH122 - no path
            is_package = stem == "fleetlane" or os.path.isfile(f"{one.path}/__init__.py")  # noqa: PTH113
            if is_package or suffix in (".py", ".so", ".dist-info", ".egg-info"):
                yield one.path, READ
