"""Somebody with a fresh checkout, who does what a document says and no more."""

import shutil
import subprocess
from pathlib import Path
from typing import Final

from local.checkout import ROOT
from tests.readme.fences import Fence, fences_of
from tests.readme.terminal import Terminal

ENDPOINTS: Final = Path("build/local/endpoints.json")
STAYS: Final = "./fleetlane up"


def copy_checkout(target: Path) -> None:
    """What a commit of everything here would hold: a clone has neither set-up nor data."""
    git = ["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"]
    listed = subprocess.run(git, cwd=ROOT, capture_output=True, text=True, check=True)
    for name in filter(None, listed.stdout.split("\0")):
        if (ROOT / name).exists():  # else removed, but not committed yet
            (target / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy2(ROOT / name, target / name)


def followed(document: str, section: str, checkout: Path, terminal: Terminal) -> str:
    """Write the files that a section shows, type what it says, and return what was printed."""
    printed = []
    for fence in fences_of(document, section=section):
        if fence.language != "sh":
            _write(fence, checkout)
        elif any(line.startswith(STAYS) for line in fence.text.splitlines()):
            terminal.start(fence.text, until_there_is=checkout / ENDPOINTS)
        else:
            printed.append(terminal.run(fence.text))
    return "".join(printed)


def _write(fence: Fence, checkout: Path) -> None:
    assert fence.path is not None, f"no line above says where this belongs:\n{fence.text}"
    (checkout / fence.path).write_text(fence.text)
