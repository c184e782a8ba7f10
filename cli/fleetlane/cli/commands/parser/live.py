"""What an author's folder would change for real messages: the part of ``dev`` that needs these."""

from collections.abc import Callable, Collection, Iterator

from fleetlane.cli.commands.flow.preview import compared
from fleetlane.cli.commands.flow.publish import newest_of
from fleetlane.cli.options.checkout import uv_program
from fleetlane.cli.options.stage import PlatformOptions
from fleetlane.cli.output.tables import escaped
from fleetlane.cli.output.waiting import counted
from fleetlane.parsers.testkit.sites import Project, Sites
from operations.flows.deployed_parsers import DeployedParsers
from operations.flows.publisher import FlowPublisher
from operations.messages.newest import NewestMessages


def comparison(project: Project, where: PlatformOptions) -> str:
    """As ``comparison_lines``, with the flows and messages of a platform now."""
    platform = where.platform()
    with counted("comparing with real messages"):
        lines = comparison_lines(project, platform.publisher, newest_of(platform))
        return "\n".join(map(escaped, lines))


def comparison_lines(
    project: Project, publisher: FlowPublisher, newest: Callable[[Collection[str]], NewestMessages]
) -> Iterator[str]:
    """A line for each of the folder's flows, compared with its stream's flow in force.

    Raises:
        FleetlaneError: The folder's flows are refused, or the platform does not answer.
    """
    flows, before = project.flows, publisher.current().by_stream
    messages = newest(flows)
    with Sites(uv=uv_program()) as sites, DeployedParsers(publisher) as deployed:
        for stream, flow in flows.items():
            found = compared(
                before.get(stream),
                flow,
                messages.of_stream[stream],
                deployed.location,
                lambda _, use: sites.parser(use, project).location,
            )
            yield f"{stream}: {found if stream in before else f'not in force yet; {found}'}"
