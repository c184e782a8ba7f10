"""Python packages: uv, at one version, and the environments that it makes from the locks."""

from __future__ import annotations

import importlib.util
import re
import shutil
import sys
from pathlib import Path

from local.setup.steps import Checkout, Step, key_of, say
from local.setup.tools import run_tool, version_text

UV_VERSION = (0, 13, 8)  # at least, within the minor; uv itself refuses others, by pyproject.toml
WORTH_SHOWING = re.compile(
    r"\s*(Using CPython|Downloading|Building \S+==|Built \S+==|Prepared|Installed)\b"
)


def environment_step(checkout: Checkout) -> Step:
    """Makes ``.venv`` hold what uv.lock says, and nothing else."""
    return Step(
        title="Python packages into .venv (about 560 MB to download when none are cached)",
        folder=checkout.venv,
        key=environment_key(checkout),
        make=lambda: _sync(checkout, project=checkout.root, venv=checkout.venv),
    )


def environment_key(checkout: Checkout) -> str:
    """Of the lock and of each member's pyproject.toml: it alone has the entry points."""
    patterns = ("*/pyproject.toml", "examples/*/pyproject.toml")
    members = [path for pattern in patterns for path in sorted(checkout.root.glob(pattern))]
    root = [checkout.root / name for name in ("uv.lock", "pyproject.toml", ".python-version")]
    return key_of([*root, *members])


def localstack_step(checkout: Checkout) -> Step:
    """LocalStack has its own lock, which pins packages that the platform has outgrown."""
    project = checkout.root / "local" / "localstack_hostmode"
    venv = checkout.build / "localstack"
    return Step(
        title="LocalStack into build/localstack (about 55 MB)",
        folder=venv,
        key=key_of([project / "uv.lock", project / "pyproject.toml"]),
        make=lambda: _sync(checkout, project=project, venv=venv),
    )


def _sync(checkout: Checkout, *, project: Path, venv: Path) -> None:
    uv = installed_uv(checkout) or _install_uv(checkout)
    ours = {"UV_PROJECT_ENVIRONMENT": str(venv), "UV_NO_PROGRESS": "1"}
    environment = {**checkout.environment, **ours}
    environment.pop("VIRTUAL_ENV", None)
    run_tool(
        "uv",
        [str(uv), "sync", "--locked", "--project", str(project)],
        environment=environment,
        log=checkout.logs / f"packages-{venv.name.lstrip('.')}.log",
        condense=shown_of_uv,
    )


def shown_of_uv(line: str) -> str | None:
    """Show what takes time, but neither each package's name nor pyenv's warnings."""
    return line.strip() if WORTH_SHOWING.match(line) else None


def installed_uv(checkout: Checkout) -> Path | None:
    """A uv that satisfies the pin: our own, or one on PATH; ``None`` where there is neither."""
    on_path = shutil.which("uv", path=checkout.environment.get("PATH"))
    for candidate in [_our_uv(checkout), *([Path(on_path)] if on_path else [])]:
        if satisfies_pin(version_text(candidate, ("--version",), checkout.environment)):
            return candidate
    return None


def has_pip() -> bool:
    """Whether the Python at work could install a uv."""
    return importlib.util.find_spec("pip") is not None


def _our_uv(checkout: Checkout) -> Path:
    return checkout.build / "uv" / "bin" / "uv"


def satisfies_pin(text: str) -> bool:
    """Whether ``uv --version`` printed a version that this project's lock was made for."""
    found = re.match(r"uv (\d+)\.(\d+)\.(\d+)", text)
    if not found:
        return False
    version = tuple(int(number) for number in found.groups())
    return version[:2] == UV_VERSION[:2] and version >= UV_VERSION


def _install_uv(checkout: Checkout) -> Path:
    """By pip, into a folder of its own: this needs no ensurepip and leaves python3 untouched."""
    target, version = checkout.build / "uv", ".".join(map(str, UV_VERSION))
    say(f"set-up: uv {version} into build/uv (about 18 MB)")
    shutil.rmtree(target, ignore_errors=True)
    run_tool(
        "pip",
        [sys.executable, "-m", "pip", "install", "--target", str(target), f"uv=={version}"],
        environment={**checkout.environment, "PIP_USER": "0", "PIP_REQUIRE_VIRTUALENV": "0"},
        log=checkout.logs / "uv.log",
    )
    return _our_uv(checkout)
