"""The lake on a laptop: a folder with its tables, and their catalog, a SQLite file, beside them."""

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Final

import boto3

from operations.aws_settings import client_settings_at
from operations.endpoints import Endpoints

if TYPE_CHECKING:
    from mypy_boto3_s3 import S3Client

LAKE_BUCKET: Final = "fleetlane-lake"
"""Holds no tables here: leases, and what operators ask of the job that writes them."""

_BUSY_MS: Final = 30_000
"""How long one query's commit waits for another's."""


@dataclass(frozen=True, slots=True)
class LocalLake:
    """A lake in ``folder``. It can be read while nothing runs."""

    folder: Path

    @property
    def warehouse(self) -> str:
        """Where tables lie, as a URL."""
        return self.folder.as_uri()

    @property
    def catalog_path(self) -> Path:
        return self.folder / "catalog.db"

    @property
    def jdbc_uri(self) -> str:
        """The catalog, as Iceberg for Java opens it."""
        return f"jdbc:sqlite:{self.catalog_path}?busy_timeout={_BUSY_MS}"


def lake_store_of(endpoints: Endpoints) -> "tuple[S3Client, str]":
    """Open the bucket of a platform that another process runs."""
    return boto3.client("s3", **client_settings_at(endpoints.s3)), LAKE_BUCKET
