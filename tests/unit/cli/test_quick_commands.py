"""What a command loads is what its user waits for."""

import subprocess
import sys
from pathlib import Path

import pytest

TO_READ_TABLES = {"altair", "duckdb", "pandas", "pyarrow", "pyiceberg", "sqlalchemy"}
SCRIPT = """
import sys
from fleetlane.cli.main import main
try:
    main()
finally:
    print(*{name.partition(".")[0] for name in sys.modules})
"""


def loaded_by(*arguments: str, folder: Path) -> set[str]:
    """The packages that a command has loaded when it finds that no platform runs."""
    command = [sys.executable, "-c", SCRIPT, *arguments, "--data", str(folder)]

    done = subprocess.run(command, capture_output=True, text=True, check=False)

    assert "no platform runs" in done.stderr
    return set(done.stdout.split())


@pytest.mark.parametrize(
    "arguments",
    [
        ["status"],
        ["send", "thermo", __file__, "--device", "d-1"],
        ["why", "00000000-0000-4000-8000-000000000000"],
        ["tail", "parked"],
        ["parked", "list"],
        ["parked", "replay", "--flow", "gps"],
        ["replay", "--flow", "gps", "--from", "1h", "--to", "0h"],
        ["flow", "list"],
        ["device", "list"],
    ],
)
def test_what_reads_no_table_loads_nothing_that_does(arguments: list[str], tmp_path: Path) -> None:
    loaded = loaded_by(*arguments, folder=tmp_path)

    assert loaded & TO_READ_TABLES == set()


@pytest.mark.parametrize("arguments", [["fleet", "coverage"], ["lake", "view", "gps"], ["ledger"]])
def test_questions_load_neither_pandas_nor_what_draws(arguments: list[str], tmp_path: Path) -> None:
    loaded = loaded_by(*arguments, folder=tmp_path)

    assert loaded & {"altair", "jinja2", "pandas", "sqlalchemy"} == set()


def test_a_parser_that_needs_pandas_gets_it() -> None:
    script = (
        "import sys; from fleetlane.cli.main import WithoutPandas\n"
        "sys.meta_path.insert(0, WithoutPandas())\n"
        "import pyarrow.dataset; print('pandas' in sys.modules)\n"
        "import pandas; print(pandas.__name__)\n"
    )

    printed = subprocess.run(
        [sys.executable, "-c", script], capture_output=True, text=True, check=True
    ).stdout

    assert printed.split() == ["False", "pandas"]
