"""Files that an installed package carries: schemas, descriptor sets."""

from importlib.resources import files
from importlib.resources.abc import Traversable


def package_file(where: str) -> Traversable:
    """Find ``package:path``, a file or folder inside a package: ``"acme_sensors:schemas"``.

    Raises ``ValueError`` where the package is not installed, or nothing is there.
    """
    package, _, path = where.partition(":")
    if not package or not path:
        raise ValueError(f"{where!r:.200} is not written as package:path")
    try:
        found = files(package).joinpath(path)
    except (ImportError, TypeError) as problem:
        raise ValueError(f"{where!r:.200}: {problem}") from None
    if not found.is_file() and not found.is_dir():
        raise ValueError(f"{where!r:.200}: package {package} carries no {path}")
    return found
