"""Views in the Glue Data Catalog, as Athena keeps its own: a table without data, its SQL within."""

import base64
import json
from typing import TYPE_CHECKING, Final

from clients.aws import asking
from clients.lake.view_sql import ATHENA_TYPES, Engine, select
from fleetlane.events.errors import FleetlaneError
from fleetlane.events.lake.views import Kind, LakeView

if TYPE_CHECKING:
    from mypy_boto3_glue.client import GlueClient
    from mypy_boto3_glue.type_defs import ColumnTypeDef, TableInputTypeDef

_VIEW: Final = "VIRTUAL_VIEW"
_HIVE_TYPES: Final = {Kind.TIME: "timestamp", Kind.TEXT: "string", Kind.JSON: "string"}


class ViewNotPutError(FleetlaneError):
    """Glue does not answer or refuses, or something else is where a view was to be."""

    view: str
    problem: str
    sentence = "view {view} cannot be put into the catalog: {problem}"


def put_view(glue: "GlueClient", database: str, view: LakeView) -> bool:
    """Let a database's view be as given; says whether it was not. What is no view is left alone.

    ``glue`` is a client whose maker bounded its waits. Raises ``ViewNotPutError``.
    """
    wanted = _table(view, database)
    with asking(ViewNotPutError, view.name):
        try:
            found = glue.get_table(DatabaseName=database, Name=view.name)["Table"]
        except glue.exceptions.EntityNotFoundException:
            glue.create_table(DatabaseName=database, TableInput=wanted)
            return True
        if found.get("TableType") != _VIEW:
            problem = f"what has that name is no view but {found.get('TableType')}"
            raise ViewNotPutError(view.name, problem)
        if found.get("ViewOriginalText") == wanted.get("ViewOriginalText"):
            return False
        glue.update_table(DatabaseName=database, TableInput=wanted, SkipArchive=True)
        return True


def _table(view: LakeView, database: str) -> "TableInputTypeDef":
    """What Athena writes at ``create view``; it reads SQL and types back from the text."""
    definition = {
        "originalSql": select(view, Engine.ATHENA, database),
        "catalog": "awsdatacatalog",
        "schema": database,
        "columns": [{"name": one.name, "type": ATHENA_TYPES[one.kind]} for one in view.columns],
    }
    encoded = base64.b64encode(json.dumps(definition).encode()).decode()
    columns: list[ColumnTypeDef] = [
        {"Name": one.name, "Type": _HIVE_TYPES.get(one.kind, ATHENA_TYPES[one.kind])}
        for one in view.columns
    ]
    return {
        "Name": view.name,
        "Description": f"Events of stream {view.stream}, by its flow's schema",
        "TableType": _VIEW,
        "Parameters": {"presto_view": "true", "comment": "Presto View"},
        "PartitionKeys": [],
        "StorageDescriptor": {"Columns": columns, "Location": "", "SerdeInfo": {}},
        "ViewOriginalText": f"/* Presto View: {encoded} */",
        "ViewExpandedText": "/* Presto View */",
    }
