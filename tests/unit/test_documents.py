"""What documents point at is there: files, links, and sections within them."""

import re
import tomllib
from collections.abc import Iterator
from pathlib import Path
from typing import Final

import msgspec
import pytest

from fleetlane.events.canonical import TimeQuality, canonical_event_from
from fleetlane.events.names import is_raw_id
from local.checkout import ROOT

DOCUMENTS: Final = (*sorted(ROOT.glob("*.md")), *sorted((ROOT / "docs").rglob("*.md")))
ROOMS: Final = (
    "benchmarks|cli|clients|docs|events|examples|flows|glue_jobs|infra|lambdas|local|operations|"
    "parsers|tests"
)
PACKAGES: Final = {
    "parsers": ROOT / "parsers" / "fleetlane" / "parsers",
    "events": ROOT / "events" / "fleetlane" / "events",
    "cli": ROOT / "cli" / "fleetlane" / "cli",
}
"""Where the code of a room is, when it is a distribution of its own."""

S3_KEYS: Final = ("flows/current.json", "flows/versions/")
"""Places in a bucket that look like files of the repository."""

DECISIONS: Final = sorted((ROOT / "docs" / "decisions").glob("[0-9]*.md"))
PROJECTS: Final = tuple(ROOT / one / "pyproject.toml" for one in ("", "events", "parsers", "cli"))
PAGE_LINES: Final = 60
ARCHITECTURE_LINES_MAX: Final = 150

_CODE: Final = re.compile(r"^```.*?^```$", re.DOTALL | re.MULTILINE)
_PATH: Final = re.compile(rf"`((?:{ROOMS})/[\w/.*<>-]*)`")
_MODULE: Final = re.compile(rf"`((?:fleetlane\.)?(?:{ROOMS})(?:\.\w+)+)`")
_LINK: Final = re.compile(r"\]\(([^)\s]+)\)")
_TEST: Final = re.compile(r"^def test_", re.MULTILINE)
_HEADING: Final = re.compile(r"^#+ (.+)$", re.MULTILINE)


def texts() -> Iterator[tuple[Path, str]]:
    for document in DOCUMENTS:
        if document.name != "CHANGELOG.md":
            yield document, _CODE.sub("", document.read_text())


def is_there(path: str) -> bool:
    room, _, below = path.rstrip("/").partition("/")
    tops = (ROOT / room, PACKAGES.get(room, ROOT / room))
    return any((top / below).exists() for top in tops)


def anchors_of(document: Path) -> set[str]:
    """GitHub's names of a document's sections."""
    headings = _HEADING.findall(_CODE.sub("", document.read_text()))
    kept = (re.sub(r"[^\w\- ]", "", heading.lower()) for heading in headings)
    return {heading.replace(" ", "-") for heading in kept}


def test_every_file_that_a_document_names_is_there() -> None:
    named = [(document, path) for document, text in texts() for path in _PATH.findall(text)]

    missing = [
        f"{document.relative_to(ROOT)}: {path}"
        for document, path in named
        if not any(one in path for one in ("*", "<", *S3_KEYS)) and not is_there(path)
    ]

    assert named
    assert missing == []


def test_every_module_that_a_document_names_is_there() -> None:
    named = [(document, name) for document, text in texts() for name in _MODULE.findall(text)]

    missing = [
        f"{document.relative_to(ROOT)}: {name}"
        for document, name in named
        if not any(
            is_there(f"{name.removeprefix('fleetlane.').replace('.', '/')}{ending}")
            for ending in ("", ".py", ".md", ".toml", ".json")
        )
    ]

    assert missing == []


@pytest.mark.parametrize("document", DOCUMENTS, ids=lambda one: str(one.relative_to(ROOT)))
def test_every_link_of_a_document_leads_somewhere(document: Path) -> None:
    links = [
        link for link in _LINK.findall(_CODE.sub("", document.read_text())) if "://" not in link
    ]

    broken = []
    for link in links:
        path, _, anchor = link.partition("#")
        target = (document.parent / path).resolve() if path else document
        if not target.exists() or (anchor and anchor not in anchors_of(target)):
            broken.append(link)

    assert broken == []


def test_every_attack_on_the_security_page_names_tests_that_are_run() -> None:
    rows = [
        row.split("|")
        for row in (ROOT / "SECURITY.md").read_text().splitlines()
        if row.startswith("| ") and not row.startswith("| attack ")
    ]
    named = [(attack.strip(), _PATH.findall(held_by)) for _, attack, _, held_by, *_ in rows]

    without = [
        attack
        for attack, paths in named
        if not paths or not all(_TEST.search((ROOT / path).read_text()) for path in paths)
    ]

    assert named
    assert without == []


@pytest.mark.parametrize("decision", DECISIONS, ids=lambda one: one.stem[:4])
def test_every_decision_fits_on_a_page_with_its_context_and_consequence(decision: Path) -> None:
    text = decision.read_text()

    assert _HEADING.findall(text)[1:] == ["Context", "Decision", "Consequence"]
    assert len(text.splitlines()) <= PAGE_LINES


def test_the_index_of_decisions_names_each_once_in_order() -> None:
    index = (ROOT / "docs" / "decisions" / "README.md").read_text()

    assert _LINK.findall(index) == [one.name for one in DECISIONS]


def test_the_architecture_fits_into_its_lines() -> None:
    assert len((ROOT / "ARCHITECTURE.md").read_text().splitlines()) <= ARCHITECTURE_LINES_MAX


@pytest.mark.parametrize("project", PROJECTS, ids=lambda one: one.parent.name)
def test_every_dependency_has_its_reason(project: Path) -> None:
    reasons = (ROOT / "docs" / "dependencies.md").read_text().lower()
    declared = tomllib.loads(project.read_text())
    groups = [
        declared["project"].get("dependencies", []),
        *declared["project"].get("optional-dependencies", {}).values(),
        *declared.get("dependency-groups", {}).values(),
    ]

    names = {
        re.split(r"[^\w.-]", one)[0].lower() for group in groups for one in group if str(one) == one
    }

    ours = {name for name in names if name.startswith(("fleetlane", "acme-"))}
    assert sorted(name for name in names - ours if name not in reasons) == []


def test_the_readmes_message_its_receipt_and_its_event_belong_together() -> None:
    readme = (ROOT / "README.md").read_text()
    fences = re.findall(r"^```json\n(.*?)^```$", readme, re.DOTALL | re.MULTILINE)

    sent, receipt = (msgspec.json.decode(one) for one in fences[:2])
    event = canonical_event_from(fences[2].encode())

    assert is_raw_id(receipt["id"])
    assert is_raw_id(event.id.removesuffix("-0"))
    assert event.rawid == receipt["id"]
    assert event.data == sent
    assert event.timequality is TimeQuality.OK
