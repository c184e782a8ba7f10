"""From a flow to what is tried: a rule of it, its parser found, and the lane's limits."""

from collections.abc import Iterator

from fleetlane.events.flows.flow import Flow, ParserRule
from fleetlane.events.lanes import Lane
from fleetlane.parsers.registry import InstalledParser
from fleetlane.parsers.testkit.sites import NoProjectError, Project, Sites
from fleetlane.parsers.testkit.trials import Subject


def subject_of(
    flow: Flow, rule: ParserRule, parser: InstalledParser, lane: Lane | None = None
) -> Subject:
    """A rule with its parser, in the flow's lane unless another is given."""
    return Subject(
        flow=flow,
        rule=rule,
        lane=flow.lane if lane is None else lane,
        identifier=parser.identifier,
        location=parser.location,
    )


def bare_subject(parser: InstalledParser, lane: Lane | None = None) -> Subject:
    """A parser by itself, with its default options, in a flow that says no more than its name."""
    rule = ParserRule(use=parser.use)
    flow = Flow(stream=parser.identifier.partition("@")[0], owner="nobody", parsers=(rule,))
    return subject_of(flow, rule, parser, lane)


def subjects_in(project: Project, sites: Sites) -> Iterator[Subject]:
    """All that a project's flows would run; without flows, its parsers with default options.

    Raises:
        NoProjectError: It has neither.
        FleetlaneError: A flow is refused, a parser cannot be found, or the project not built.
    """
    flows = project.flows
    if not flows and not project.parsers:
        problem = "neither flows/*.toml nor a pyproject.toml with parsers is here"
        raise NoProjectError(project.folder, problem)
    for flow in flows.values():
        for rule in flow.parsers:
            yield subject_of(flow, rule, sites.parser(rule.use, project))
    if not flows:
        yield from map(bare_subject, sites.parsers_of(project))
