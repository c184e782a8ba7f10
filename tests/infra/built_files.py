"""What is looked at in a built artifact."""

import struct
import subprocess
import sys
import zipfile
from pathlib import Path

import boto3

ROOT = Path(__file__).resolve().parents[2]
SITE_PACKAGES = Path(boto3.__file__).parents[1]
ELF_ARM64, ELF_X86_64 = 183, 62


def run_alone(script: str, *arguments: str | Path) -> subprocess.CompletedProcess[str]:
    """Run a script with nothing on the path but the standard library."""
    command = [sys.executable, "-I", "-S", "-c", script, *map(str, arguments)]
    return subprocess.run(command, capture_output=True, text=True, check=False, env={})


def elf_machines(path: Path) -> set[int]:
    """For what processors the compiled files inside an archive are."""
    with zipfile.ZipFile(path) as archive:
        binaries = [name for name in archive.namelist() if ".so" in Path(name).suffixes]
        return {struct.unpack_from("<H", archive.read(name), 18)[0] for name in binaries}
