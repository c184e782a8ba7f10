"""The views of streams with a schema, put into the Glue Data Catalog beside the lake's tables."""

import logging
from typing import Any

from clients.aws import AwsSettings, aws_client, s3_client
from clients.flows.store import CurrentFlows, FlowStore
from clients.lake.glue_catalog import ViewNotPutError, put_view
from fleetlane.events.job_arguments import LakeArguments, LakeTables
from fleetlane.events.lake.views import LakeView, view_of

_log = logging.getLogger(__name__)


class StreamViews:
    """Puts what is new. A view whose flow is withdrawn stays: its events are still there."""

    def __init__(self, flows: CurrentFlows, glue: Any, database: str) -> None:
        self._flows, self._glue, self._database = flows, glue, database
        self._version: str | None = None
        self._due: list[LakeView] = []

    def put_new(self) -> None:
        """Put the views of flows that changed, and those that could not be put before.

        One that cannot be put is logged, and holds up no other. Raises ``FlowsUnavailableError``.
        """
        published = self._flows.current()
        if published.version != self._version:
            self._due = [view for view in map(view_of, published.flows) if view is not None]
            self._version = published.version
        self._due = [view for view in self._due if not self._is_put(view)]

    def _is_put(self, view: LakeView) -> bool:
        try:
            if put_view(self._glue, self._database, view):
                _log.warning("view %s is put", view.name)
        except ViewNotPutError as problem:
            _log.warning("%s; it is tried again", problem)
            return False
        return True


def stream_views(arguments: LakeArguments) -> StreamViews | None:
    """What the query of the events puts; ``None`` for the others, or where no Data Catalog is."""
    if arguments.tables is not LakeTables.EVENTS or arguments.lake_catalog_uri is not None:
        return None
    flows = FlowStore(s3_client(AwsSettings()), arguments.flows_bucket)
    return StreamViews(flows, aws_client("glue"), arguments.lake_database)
