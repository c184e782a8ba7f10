"""The arguments of every benchmark that runs a platform, and the folder that it works in."""

import argparse
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from local.checkout import ROOT


def arguments_of(name: str, description: str | None) -> argparse.ArgumentParser:
    """A parser that knows where to work, and where the numbers go: below build/bench."""
    arguments, bench = argparse.ArgumentParser(description=description), ROOT / "build" / "bench"
    arguments.add_argument("--folder", type=Path, default=bench / name, help="emptied first")
    arguments.add_argument("--output", type=Path, default=bench / f"{name}.json")
    return arguments


@contextmanager
def emptied(folder: Path) -> Iterator[Path]:
    """An empty folder, removed at the end; one of a run that failed stays until the next."""
    shutil.rmtree(folder, ignore_errors=True)
    yield folder
    shutil.rmtree(folder)
