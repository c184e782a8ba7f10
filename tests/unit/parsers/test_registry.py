import pickle
import sys
from collections.abc import Callable
from importlib.metadata import version
from pathlib import Path

import pytest

from fleetlane.events.errors import FleetlaneError
from fleetlane.parsers.formats.csv import Csv
from fleetlane.parsers.formats.json import Json
from fleetlane.parsers.registry import (
    BrokenParserError,
    ParserOptionError,
    UnknownParserError,
    find_parser,
    installed_parsers,
    load_parser,
    located_parser,
)

THERMO = "acme_sensors.thermo:AcmeThermo"

BUILT_IN = [
    "avro",
    "binary",
    "cbor",
    "csv",
    "json",
    "lines",
    "msgpack",
    "ndjson",
    "protobuf",
    "senml",
]

Install = Callable[[str, str, str], None]


@pytest.fixture
def install(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Install:
    """Install a package of one parser: distribution, ``name==version``, what it leads to."""

    def install(distribution: str, pin: str, target: str) -> None:
        name, _, pinned_version = pin.partition("==")
        site = tmp_path / distribution
        metadata = site / f"{distribution.replace('-', '_')}-{pinned_version}.dist-info"
        metadata.mkdir(parents=True)
        (metadata / "METADATA").write_text(f"Name: {distribution}\nVersion: {pinned_version}\n")
        (metadata / "entry_points.txt").write_text(f"[fleetlane.parsers]\n{name} = {target}\n")
        monkeypatch.syspath_prepend(site)

    return install


def test_a_built_in_format_is_found_by_its_name_alone() -> None:
    parser = load_parser("json", {})

    assert parser == Json()


def test_a_built_in_format_has_the_version_of_its_package() -> None:
    found = find_parser("ndjson")

    assert found.identifier == f"ndjson@{version('fleetlane-parsers')}"


@pytest.mark.parametrize("use", ["acme-thermo==1.2.0", "acme-thermo==1.2", "acme-thermo == 1.2.0"])
def test_a_parser_is_found_by_an_equal_version(use: str) -> None:
    found = find_parser(use)

    assert found.identifier == "acme-thermo@1.2.0"


@pytest.mark.parametrize(
    "use",
    [
        "acme-thermo",
        "acme-thermo==",
        "acme-thermo==1.2.1",
        "acme-thermo==1.2.*",
        "acme-thermo==new",
        "acme-thermo>=1.2",
        "acme-nothing==1.2.0",
        "json==0.1.0",
        "",
    ],
)
def test_what_is_not_installed_or_not_pinned_is_unknown(use: str) -> None:
    with pytest.raises(UnknownParserError) as refusal:
        find_parser(use)

    installed = ", ".join(BUILT_IN)
    assert str(refusal.value).startswith(f"no parser {use!r}; installed: {installed}, ")
    assert "acme-thermo==1.2.0" in str(refusal.value)


def test_another_package_cannot_take_the_name_of_a_built_in_format(install: Install) -> None:
    install("intruder", "json==9.9", THERMO)

    parser = load_parser("json", {})

    assert parser == Json()


def test_two_packages_that_offer_the_same_parser_are_distinguished_by_version(
    install: Install,
) -> None:
    install("acme-fork", "acme-thermo==1.3", THERMO)

    found = find_parser("acme-thermo==1.3")

    assert found.distribution == "acme-fork"


def test_two_packages_that_offer_the_same_version_are_refused(install: Install) -> None:
    install("acme-fork", "acme-thermo==1.2.0", THERMO)

    with pytest.raises(UnknownParserError, match="comes from several packages"):
        find_parser("acme-thermo==1.2.0")


def test_the_list_names_each_parser_as_a_flow_would() -> None:
    uses = [parser.use for parser in installed_parsers()]

    assert uses[: len(BUILT_IN)] == BUILT_IN
    assert {"acme-thermo==1.2.0", "acme-vibration==1.2.0"} <= set(uses)


@pytest.mark.parametrize(
    ("target", "why"),
    [
        ("no_such_module_anywhere:Parser", "No module named 'no_such_module_anywhere'"),
        ("acme_sensors.thermo:Missing", "Missing"),
        ("json:loads", "json:loads is no class with a parse"),
        ("pathlib:Path", "pathlib:Path is no class with a parse"),
    ],
)
def test_an_entry_point_without_a_parser_is_broken(install: Install, target: str, why: str) -> None:
    install("broken", "broken==1.0", target)

    with pytest.raises(BrokenParserError) as refusal:
        load_parser("broken==1.0", {})

    assert why in str(refusal.value)


def test_options_reach_the_parser() -> None:
    parser = load_parser("csv", {"columns": ["t", "v"], "types": {"v": "float"}, "delimiter": ";"})

    assert parser == Csv(columns=("t", "v"), types={"v": "float"}, delimiter=";")


def test_a_whole_number_is_a_float_too() -> None:
    parser = load_parser("acme-thermo==1.2.0", {"celsius_per_count": 2})

    (event,) = parser.parse(b"\x01\0\0\0\x03\0")

    assert event == {"measured_at": 1, "celsius": 6.0}


@pytest.mark.parametrize(
    ("use", "options", "why"),
    [
        ("acme-thermo==1.2.0", {"kelvin": 1}, "no option 'kelvin'; allowed: celsius_per_count"),
        ("ndjson", {"delimiter": ";"}, "no option 'delimiter'; allowed: none"),
        (
            "acme-thermo==1.2.0",
            {"celsius_per_count": "warm"},
            "option 'celsius_per_count' is 'warm': Expected `float`, got `str`",
        ),
        ("csv", {"types": {"v": "decimal"}}, "Invalid enum value 'decimal'"),
        ("csv", {"delimiter": "::"}, '"delimiter" must be a 1-character string'),
        ("json", {"events_at": "a..b"}, "events_at 'a..b' has an empty name"),
    ],
)
def test_an_option_that_does_not_fit_is_named(
    use: str, options: dict[str, object], why: str
) -> None:
    with pytest.raises(ParserOptionError) as refusal:
        load_parser(use, options)

    assert str(refusal.value).startswith(f"parser {use!r}: ")
    assert why in str(refusal.value)


@pytest.mark.parametrize(
    "error",
    [
        UnknownParserError("a==1", (), ("json",)),
        ParserOptionError("a==1", "no option 'b'; allowed: none"),
        BrokenParserError("a==1", "no module named a"),
    ],
)
def test_the_errors_cross_a_process(error: FleetlaneError) -> None:
    copy = pickle.loads(pickle.dumps(error))  # noqa: S301 - our own bytes

    assert str(copy) == str(error)


def test_a_version_that_is_written_at_too_great_a_length_is_refused(
    install: Install, tmp_path: Path
) -> None:
    install("wordy", "wordy==1.0", THERMO)
    metadata = tmp_path / "wordy" / "wordy-1.0.dist-info" / "METADATA"
    metadata.write_text(f"Name: wordy\nVersion: 1.0{'.0' * 1_000}\n")

    with pytest.raises(BrokenParserError) as refusal:
        find_parser("wordy==1.0")

    assert "have 2009 characters; the limit is 200 characters" in str(refusal.value)


def test_a_version_that_another_hides_is_loaded_from_where_one_says(install: Install) -> None:
    install("versioned", "versioned==1.0", THERMO)
    hidden = sys.path[0]
    install("Versioned", "versioned==2.0", THERMO)

    parser = load_parser("versioned==1.0", {}, hidden)

    assert find_parser("versioned==1.0", hidden).identifier == "versioned@1.0"
    assert callable(parser.parse)


def test_a_version_that_another_hides_is_found_for_a_process_of_its_own(install: Install) -> None:
    install("versioned", "versioned==1.0", THERMO)
    hidden = sys.path[0]
    install("Versioned", "versioned==2.0", THERMO)

    found = located_parser("versioned==1.0")

    assert (found.identifier, found.location) == ("versioned@1.0", hidden)
