"""A parser's project, and where its code is: installed, built to try it, or in an artifact."""

import tomllib
from collections.abc import Iterator, Mapping
from contextlib import ExitStack
from dataclasses import dataclass
from importlib.metadata import Distribution, PackageNotFoundError
from pathlib import Path
from tempfile import TemporaryDirectory
from urllib.parse import urlsplit
from urllib.request import url2pathname

from fleetlane.events.errors import FleetlaneError
from fleetlane.events.flows.artifacts import BadArtifactError
from fleetlane.events.flows.files import flows_in
from fleetlane.events.flows.flow import FlowSet
from fleetlane.parsers import registry
from fleetlane.parsers.artifacts.building import Platform, built, uv_for
from fleetlane.parsers.artifacts.writing import unpack
from fleetlane.parsers.testkit.trials import Subject


class NoProjectError(FleetlaneError):
    """A folder has nothing that could be tried."""

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
        return flows_in(self.folder / "flows")


def project_at(folder: Path) -> Project:
    """Read what a folder is; raises ``NoProjectError`` where it cannot be read."""
    if not folder.is_dir():
        raise NoProjectError(folder, "there is no such folder")
    path = folder / "pyproject.toml"
    if not path.is_file():
        return Project(folder=folder, name=None, parsers={})
    try:
        table = tomllib.loads(path.read_text(encoding="utf-8")).get("project", {})
        parsers = table.get("entry-points", {}).get(registry.ENTRY_POINT_GROUP, {})
        return Project(folder=folder, name=table.get("name"), parsers=dict(parsers))
    except (ValueError, AttributeError, TypeError) as problem:
        raise NoProjectError(folder, f"pyproject.toml: {problem}") from None


def project_around(path: Path) -> Project | None:
    """The nearest folder, from this one up, whose package offers parsers."""
    for folder in (path.absolute(), *path.absolute().parents):
        if (folder / "pyproject.toml").is_file() and (project := project_at(folder)).parsers:
            return project
    return None


class Sites(ExitStack):
    """Finds parsers; as a context, keeps the folders that it builds until it is left.

    ``uv`` is the program that builds projects; by default the one on ``PATH``.
    """

    def __init__(self, *, uv: Path | None = None) -> None:
        super().__init__()
        self._uv = uv
        self._projects: dict[Path, str | None] = {}

    def parser(self, use: str, project: Project | None = None) -> registry.InstalledParser:
        """Find what a flow means by ``use``, first of all in a project.

        Raises ``UnknownParserError``, or ``CannotBuildError`` of the project.
        """
        if project is None or use.partition("==")[0].strip() not in project.parsers:
            return registry.located_parser(use)
        return registry.find_parser(use, self.of_project(project))

    def parsers_of(self, project: Project) -> list[registry.InstalledParser]:
        """All parsers that a project offers, by name; it is built as ``of_project`` does."""
        offered = registry.installed_parsers(self.of_project(project))
        return [one for one in offered if one.name in project.parsers and not one.is_built_in]

    def subjects_in(self, project: Project) -> Iterator[Subject]:
        """All that a project's flows would run; without flows, its parsers with default options.

        Raises:
            NoProjectError: It has neither.
            FleetlaneError: A flow is refused, a parser cannot be found, or the project not built.
        """
        flows = project.flows
        if not flows and not project.parsers:
            problem = "neither flows/*.toml nor a pyproject.toml with parsers is here"
            raise NoProjectError(project.folder, problem)
        for flow in flows.values():
            for rule in flow.parsers:
                yield Subject.of(flow, rule, self.parser(rule.use, project))
        if not flows:
            yield from map(Subject.bare, self.parsers_of(project))

    def of_artifact(self, path: Path, use: str | None = None) -> registry.InstalledParser:
        """Find a parser in an artifact: the only one, unless ``use`` names it.

        Raises:
            BadArtifactError: It is no artifact, or offers several and none was named.
            UnknownParserError: It does not offer that one.
        """
        site = self._new_folder()
        manifest = unpack(path, Path(site))
        if use is None and len(manifest.uses) > 1:
            problem = f"offers {', '.join(manifest.uses)}: say which with --parser"
            raise BadArtifactError(path.name, problem)
        return registry.find_parser(use or manifest.uses[0], site)

    def of_project(self, project: Project) -> str | None:
        """A folder with a project's code, built; ``None`` where it is installed as it stands.

        Raises ``CannotBuildError``.
        """
        folder = project.folder.resolve()
        if folder not in self._projects:
            is_here = project.name is not None and _is_editable(project.name, folder)
            self._projects[folder] = None if is_here else self._built(folder)
        return self._projects[folder]

    def _built(self, folder: Path) -> str:
        site = self._new_folder()
        for name, data in built(uv_for(folder, self._uv), Platform.HOST).contents.items():
            path = Path(site, name)
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(data)
        return site

    def _new_folder(self) -> str:
        folder = TemporaryDirectory(prefix="fleetlane-parser-", ignore_cleanup_errors=True)
        return self.enter_context(folder)


def _is_editable(name: str, folder: Path) -> bool:
    """Whether this Python imports a project straight from its folder."""
    try:
        origin = Distribution.from_name(name).origin
    except PackageNotFoundError:
        return False
    if origin is None or not getattr(getattr(origin, "dir_info", None), "editable", False):
        return False
    return Path(url2pathname(urlsplit(origin.url).path)).resolve() == folder
