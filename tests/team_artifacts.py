"""Artifacts as teams bring them, made for a test: one parser of a few lines."""

from pathlib import Path
from typing import Final

from fleetlane.events.flows.artifacts import ANY_PLATFORM
from fleetlane.parsers.artifacts.writing import Package, write_artifact

ECHO: Final = """
class Parser:
    def parse(self, message):
        yield {"version": %r, "message": message.decode()}
"""


def team_artifact(folder: Path, pin: str, code: str | None = None) -> Path:
    """An artifact that offers the parser ``name==version``; by default it yields its version."""
    name, _, version = pin.partition("==")
    module = name.replace("-", "_")
    note = f"{module}-{version}.dist-info"
    entry_point = f"{module}:Parser"
    contents = {
        f"{module}.py": (ECHO % version if code is None else code).encode(),
        f"{note}/METADATA": f"Name: {name}\nVersion: {version}\n".encode(),
        f"{note}/entry_points.txt": f"[fleetlane.parsers]\n{name} = {entry_point}\n".encode(),
    }
    package = Package(
        name=name, version=version, parsers={name: entry_point}, platform=ANY_PLATFORM
    )
    return write_artifact(folder, package, contents)
