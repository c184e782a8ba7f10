"""SQL that lies beside the modules that use it, several queries a file."""

from collections.abc import Mapping
from importlib.resources import files


def queries(package: str, file: str, **fragments: object) -> Mapping[str, str]:
    """The queries of a file in a package by their names, each in a comment above it.

    What is in braces is a fragment, or a query before it in the file.
    """
    found = {name: str(one) for name, one in fragments.items()}
    for one in files(package).joinpath(file).read_text(encoding="utf-8").split("-- name: ")[1:]:
        name, _, sql = one.partition("\n")
        found[name] = sql.format_map(found)
    return found
