"""Third-party packages, exactly as locked, for the platform where they will run."""

from collections.abc import Sequence
from pathlib import Path

from fleetlane.parsers.artifacts.building import CannotBuildError as UvFailedError
from fleetlane.parsers.artifacts.building import Platform, Uv, install_options, uv_for
from infra.artifacts.archive import CannotBuildError

_RETRY = "mend that (`uv lock` renews a stale uv.lock) and run `make artifacts` again"


def install(
    uv: Uv, group: str, platform: Platform, folder: Path, *, without: Sequence[str] = ()
) -> None:
    """Install a dependency group's packages, without our own, into ``folder``.

    Only wheels, by their hashes; none of the packages ``without``, which are there already.

    Raises:
        CannotBuildError: The group is missing, uv.lock is stale, or a wheel is unavailable.
    """
    subject = f"pyproject.toml, group {group}"
    not_there = [f"--no-emit-package={name}" for name in without]
    only = ("--only-group", group, "--no-emit-workspace", *not_there)
    plain = ("--locked", "--no-header", "--no-annotate")
    requirements = run_uv(uv, "export", *plain, *only, subject=subject)
    into = install_options(folder, platform)
    exact = ("--no-deps", "--require-hashes", "--requirements", "-")
    run_uv(uv, "pip", "install", *into, *exact, subject=subject, given=requirements)


def run_uv(uv: Uv, *arguments: str, subject: str, given: str = "") -> str:
    """Run uv, and give what it printed.

    Raises:
        CannotBuildError: It failed. ``subject`` is what it worked on.
    """
    try:
        return uv.run(*arguments, given=given)
    except UvFailedError as failure:
        raise CannotBuildError(subject, failure.problem, _RETRY) from None


def uv_of(root: Path) -> Uv:
    """Find the uv that the set-up uses: its own, or the one on ``PATH``.

    Raises:
        CannotBuildError: There is none.
    """
    ours = root / "build" / "uv" / "bin" / "uv"
    try:
        return uv_for(root, ours if ours.is_file() else None)
    except UvFailedError:
        raise CannotBuildError("build/uv/bin/uv", "is missing", "run `make environment`") from None
