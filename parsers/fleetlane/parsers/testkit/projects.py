"""The folder that a parser is written in: what its pyproject.toml, flows and samples say."""

import tomllib
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from fleetlane.events.errors import FleetlaneError
from fleetlane.events.flows.files import flows_in
from fleetlane.events.flows.flow import FlowSet
from fleetlane.parsers.registry import ENTRY_POINT_GROUP


class NoProjectError(FleetlaneError):
    """A folder has nothing that could be tried."""

    reason = "no_project"
    folder: Path
    problem: str
    sentence = "{folder}: {problem}"


@dataclass(frozen=True, slots=True, kw_only=True)
class Project:
    """A folder with flow files, and a package of parsers unless built-in formats are enough.

    ``parsers`` are its entry points by the parsers' names, empty where there is no package.
    """

    folder: Path
    name: str | None
    parsers: Mapping[str, str]

    @property
    def flows(self) -> FlowSet:
        """The flows in its folder ``flows``.

        Raises:
            BadFlowError: A file is refused.
        """
        return flows_in(self.folder / "flows")


def project_at(folder: Path) -> Project:
    """Read what a folder is.

    Raises:
        NoProjectError: There is no such folder, or its pyproject.toml cannot be read.
    """
    if not folder.is_dir():
        raise NoProjectError(folder, "there is no such folder")
    path = folder / "pyproject.toml"
    if not path.is_file():
        return Project(folder=folder, name=None, parsers={})
    try:
        table = tomllib.loads(path.read_text(encoding="utf-8")).get("project", {})
        parsers = table.get("entry-points", {}).get(ENTRY_POINT_GROUP, {})
        return Project(folder=folder, name=table.get("name"), parsers=dict(parsers))
    except (ValueError, AttributeError, TypeError) as problem:
        raise NoProjectError(folder, f"pyproject.toml: {problem}") from None


def project_around(path: Path) -> Project | None:
    """The nearest folder, from this one up, whose package offers parsers."""
    for folder in (path.absolute(), *path.absolute().parents):
        if (folder / "pyproject.toml").is_file() and (project := project_at(folder)).parsers:
            return project
    return None
