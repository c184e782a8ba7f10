"""A parser's whole test: its samples, then its contract. ``check_folder`` is for pytest."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from fleetlane.parsers.testkit import contract_checks
from fleetlane.parsers.testkit.parser_process import ParserProcess
from fleetlane.parsers.testkit.samples import Sample, sample_findings, samples_of
from fleetlane.parsers.testkit.sites import Project, Sites, project_at
from fleetlane.parsers.testkit.trials import Finding, Subject, kept

EXAMPLES: Final = 200


class ContractBrokenError(AssertionError):
    """A parser breaks its contract, or a sample differs: a sentence for each finding."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Checked:
    """What was checked of one parser of a flow, and what is wrong with it."""

    subject: Subject
    samples: int
    findings: tuple[Finding, ...]


def check_folder(folder: Path | str, *, examples: int = EXAMPLES, uv: Path | None = None) -> None:
    """Test all parsers of a folder as ``fleetlane parser test`` does.

    A project that is not installed as editable is built first, by ``uv`` or the one on ``PATH``.

    Raises:
        ContractBrokenError: Something is wrong. The messages that show it are in ``failures``.
        FleetlaneError: There is nothing to test, or it does not build.
    """
    project = project_at(Path(folder))
    checked = checks(project, examples=examples, uv=uv)
    findings = [one for each in checked for one in each.findings]
    if findings:
        raise ContractBrokenError("\n".join(kept(findings, project.folder)))


def checks(
    project: Project, *, examples: int = EXAMPLES, update: bool = False, uv: Path | None = None
) -> Iterator[Checked]:
    """Check each parser of a project; with ``update``, the samples' expected events are written.

    Raises ``FleetlaneError`` where there is nothing to check, or it does not build.
    """
    with Sites(uv=uv) as sites:
        subjects = list(sites.subjects_in(project))
        samples = list(samples_of(project, subjects))
        for subject in subjects:
            its_own = [one for one in samples if one.subject is subject]
            found = _findings(subject, its_own, examples=examples, update=update)
            yield Checked(subject=subject, samples=len(its_own), findings=tuple(found))


def _findings(
    subject: Subject, samples: Sequence[Sample], *, examples: int, update: bool
) -> Iterator[Finding]:
    bodies = [sample.trial.body for sample in samples]
    with ParserProcess(subject) as process:
        outcomes = process.outcomes([sample.trial for sample in samples])
        for sample, outcome in zip(samples, outcomes, strict=True):
            yield from sample_findings(sample, outcome, update=update)
        for sample in samples:
            name = sample.path.name
            yield from contract_checks.mutation_findings(process, sample.trial.body, name)
        yield from contract_checks.arbitrary_findings(process, bodies, examples=examples)
    yield from contract_checks.purity_findings(subject, contract_checks.some_bodies(bodies))
