"""Where a parser's code is: installed, in a project that is built to try it, or an artifact."""

from contextlib import ExitStack
from dataclasses import replace
from importlib.metadata import Distribution, PackageNotFoundError
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Self
from urllib.parse import urlsplit
from urllib.request import url2pathname

from fleetlane.events.flows.artifacts import BadArtifactError
from fleetlane.parsers.artifacts.building import Platform, built
from fleetlane.parsers.artifacts.unpacking import unpack
from fleetlane.parsers.artifacts.uv import uv_for
from fleetlane.parsers.registry import (
    InstalledParser,
    find_parser,
    installed_parsers,
    located_parser,
)
from fleetlane.parsers.testkit.projects import Project


class Sites:
    """Finds parsers; as a context, keeps the folders that it builds until it is left.

    ``uv`` is the program that builds projects; by default the one on ``PATH``.
    """

    def __init__(self, *, uv: Path | None = None) -> None:
        self._uv = uv
        self._folders = ExitStack()
        self._projects: dict[Path, str | None] = {}

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._folders.close()

    def parser(self, use: str, project: Project | None = None) -> InstalledParser:
        """Find what a flow means by ``use``, first of all in a project.

        Raises:
            UnknownParserError: It is in neither, or in another version.
            CannotBuildError: The project does not build.
        """
        name = use.partition("==")[0].strip()
        if project is None or name not in project.parsers:
            return located_parser(use)
        return _only(use, self.of_project(project))

    def parsers_of(self, project: Project) -> list[InstalledParser]:
        """All parsers that a project offers, by name.

        Raises:
            CannotBuildError: It does not build.
        """
        site = self.of_project(project)
        path = None if site is None else [site]
        return [
            replace(one, location=site)
            for one in installed_parsers(path)
            if one.name in project.parsers and not one.is_built_in
        ]

    def of_artifact(self, path: Path, use: str | None = None) -> InstalledParser:
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
        return _only(use or manifest.uses[0], site)

    def of_project(self, project: Project) -> str | None:
        """A folder with a project's code, built; ``None`` where it is installed as it stands.

        Raises:
            CannotBuildError: It does not build.
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
        return self._folders.enter_context(folder)


def _only(use: str, site: str | None) -> InstalledParser:
    return replace(find_parser(use, None if site is None else [site]), location=site)


def _is_editable(name: str, folder: Path) -> bool:
    """Whether this Python imports a project straight from its folder."""
    try:
        origin = Distribution.from_name(name).origin
    except PackageNotFoundError:
        return False
    if origin is None or not getattr(getattr(origin, "dir_info", None), "editable", False):
        return False
    return Path(url2pathname(urlsplit(origin.url).path)).resolve() == folder
