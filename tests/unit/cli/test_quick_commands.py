"""What a command loads is what its user waits for."""

import subprocess
import sys
from pathlib import Path

import pytest

from tests.known_fleet import ASKED_AT_MS, known_fleet, lake_of

TO_SEND = {"httpx", "jwt"}
TO_READ_TABLES = {"altair", "duckdb", "pandas", "pyarrow", "pyiceberg", "sqlalchemy"}
SCRIPT = """
import sys
from fleetlane.cli.main import main
try:
    main()
finally:
    print(*{name.partition(".")[0] for name in sys.modules})
"""

QUESTION = """
import sys
from pathlib import Path
from clients.lake.laptop_lake import LaptopLake
from operations.fleet import devices
from operations.fleet.fleet import Fleet
lake = LaptopLake(catalog=Path(sys.argv[1]))
with Fleet(lake, (), asked_at_ms=int(sys.argv[2])) as fleet:
    assert devices.coverage(fleet).rows
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


@pytest.mark.parametrize("arguments", [["fleet", "coverage"], ["lake", "view", "gps"]])
def test_questions_load_duckdb_alone(arguments: list[str], tmp_path: Path) -> None:
    loaded = loaded_by(*arguments, folder=tmp_path)

    assert loaded & (TO_READ_TABLES | TO_SEND | {"confluent_kafka"}) == {"duckdb"}


def test_the_ledger_loads_neither_pandas_nor_what_draws(tmp_path: Path) -> None:
    loaded = loaded_by("ledger", folder=tmp_path)

    assert loaded & {"altair", "jinja2", "pandas", "sqlalchemy"} == set()


def test_a_laptops_tables_are_read_by_duckdb_alone(tmp_path: Path) -> None:
    lake_of(known_fleet(seed=1, devices=20, messages=50), tmp_path).close()

    done = subprocess.run(
        [sys.executable, "-c", QUESTION, tmp_path / "catalog.db", str(ASKED_AT_MS)],
        capture_output=True,
        text=True,
        check=True,
    )

    assert set(done.stdout.split()) & (TO_READ_TABLES | TO_SEND) == {"duckdb"}


@pytest.mark.parametrize("group", ["device", "fleet", "flow", "lake", "parked", "parser", "team"])
def test_help_for_a_group_loads_none_of_its_commands(group: str) -> None:
    command = [sys.executable, "-c", SCRIPT, group, "--help"]

    done = subprocess.run(command, capture_output=True, text=True, check=True)

    assert {"clients", "local", "operations", "rich"} & set(done.stdout.split()) == set()
    assert "needs fleetlane[platform]" not in done.stdout


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
