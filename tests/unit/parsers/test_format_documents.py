import re
import tomllib
from dataclasses import fields
from pathlib import Path

import pytest

from fleetlane.events.flows.files import flow_from_toml
from fleetlane.parsers.registry import InstalledParser, installed_parsers, load_parser

DOCUMENT = Path("docs/formats.md").read_text(encoding="utf-8")
BUILT_IN = [one for one in installed_parsers() if one.is_built_in]
EXAMPLES = re.findall(r"^```toml\n(.*?)^```", DOCUMENT, re.MULTILINE | re.DOTALL)


@pytest.mark.parametrize("found", BUILT_IN, ids=lambda found: found.name)
def test_the_formats_document_names_each_option_of_a_format(found: InstalledParser) -> None:
    options = [field.name for field in fields(found.entry_point.load()) if field.init]

    row = re.search(rf"^\| `{found.name}` \|.*$", DOCUMENT, re.MULTILINE)

    assert row is not None
    assert [name for name in options if f"`{name}`" not in row[0]] == []


@pytest.mark.parametrize(
    "example", EXAMPLES, ids=lambda example: tomllib.loads(example)["parsers"][0]["use"]
)
def test_the_formats_document_s_examples_are_parsers_of_a_flow(example: str) -> None:
    flow = flow_from_toml(f'stream = "thermo"\nowner = "acme"\n{example}', file="thermo.toml")

    (rule,) = flow.parsers

    if rule.use != "protobuf":  # its package is not installed here
        load_parser(rule.use, rule.options)
