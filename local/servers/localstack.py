"""AWS on 127.0.0.1: LocalStack community in host mode, without Docker.

With the queue of S3's notifications about uploads, and its dead-letter queue, as in a stage.
"""

import json
import os
import shutil
import tomllib
from collections.abc import Mapping
from contextlib import closing
from dataclasses import asdict
from pathlib import Path
from typing import Any, Final, Literal

import boto3

from fleetlane.events.errors import FleetlaneError
from fleetlane.events.s3_keys import UPLOADS
from local.checkout import ROOT
from local.servers.ports import remembered_port
from local.servers.processes import ServerProcess, answers_at
from operations.endpoints import REGION, localstack_at, variables_for

_READY_TIMEOUT_S = 120.0
_REPLAYED_BYTES_PER_S_MIN = 64 * 1024
_STOP_GRACE_S = 10.0
_SETTINGS: Final = Path(__file__).with_name("localstack.toml")


class LocalStackMissingError(FleetlaneError):
    """LocalStack's environment is not set up."""

    reason = "localstack_missing"
    environment: Path
    sentence = "there is no Python in {environment}: the set-up installs LocalStack there"


class LocalAws(ServerProcess):
    """LocalStack with all that it keeps in ``folder``; comes back on the same address.

    With the services of ``stores`` buckets, objects, tables and items outlive ``stop``, ``kill``
    and any other end of the process; with those of ``cloud`` nothing does. ``environment`` is the
    one of ``local/localstack_hostmode``.
    """

    def __init__(
        self, folder: Path, *, environment: Path, services: Literal["stores", "cloud"] = "stores"
    ) -> None:
        self._folder, self._environment = folder.resolve(), environment.absolute()
        self._scratch = self._folder / "scratch"
        self._python = self._environment / "bin" / "python"
        settings = tomllib.loads(_SETTINGS.read_text(encoding="utf-8"))
        self._settings: dict[str, str] = settings["every"] | settings[services]
        self._port: int | None = None
        self._variables: dict[str, str] = {}
        super().__init__(
            "LocalStack",
            [str(self._python), "-m", "localstack.runtime.main"],
            log_path=self._folder / "localstack.log",
            env=self._variables,
            cwd=self._folder,
            grace_s=_STOP_GRACE_S,
        )

    @property
    def endpoint_url(self) -> str:
        """Known once started, and the same after each restart."""
        assert self._port is not None, "not started yet"
        return f"http://127.0.0.1:{self._port}"

    @property
    def client_settings(self) -> dict[str, Any]:
        """What a boto3 client needs to reach it, whatever the user's own AWS settings are."""
        return asdict(localstack_at(self.endpoint_url))

    @property
    def client_environment(self) -> dict[str, str]:
        """Our own environment, with what reaches LocalStack instead of the user's AWS settings."""
        user = {name: value for name, value in os.environ.items() if not name.startswith("AWS_")}  # noqa: TID251 - passed on to our own servers
        return {**user, **variables_for(self.client_settings)}

    def start(self) -> None:
        """Start LocalStack, bring its state back and wait until it answers."""
        if not self._python.exists():
            raise LocalStackMissingError(self._environment)
        super().start()
        journal = self._folder / self._settings.get("LOCALSTACK_JOURNAL", "journal")
        timeout_s = ready_within_s(journal)
        health = f"{self.endpoint_url}/_localstack/health"
        self.wait_ready(lambda: answers_at(health), timeout_s=timeout_s)

    def ensure_bucket(self, name: str) -> None:
        with closing(boto3.client("s3", **self.client_settings)) as s3:
            if name not in {bucket["Name"] for bucket in s3.list_buckets()["Buckets"]}:
                where: Any = {"LocationConstraint": REGION}
                s3.create_bucket(Bucket=name, CreateBucketConfiguration=where)

    def ensure_table(self, name: str, *, key: str = "device_id") -> None:
        """Make the table, with a text ``key``, unless it is there."""
        with closing(boto3.client("dynamodb", **self.client_settings)) as dynamodb:
            if name not in dynamodb.list_tables()["TableNames"]:
                dynamodb.create_table(
                    TableName=name,
                    KeySchema=[{"AttributeName": key, "KeyType": "HASH"}],
                    AttributeDefinitions=[{"AttributeName": key, "AttributeType": "S"}],
                    BillingMode="PAY_PER_REQUEST",
                )

    def _prepare(self) -> None:
        shutil.rmtree(self._scratch, ignore_errors=True)  # of one that was killed
        (self._scratch / "tmp").mkdir(parents=True)
        self._port = remembered_port(self._folder / "port.json")
        # All that LocalStack sees: nothing of the user's, such as AWS_PROFILE or a proxy.
        self._variables |= {
            "PATH": os.defpath,
            "HOME": str(self._scratch),
            "PYTHONPATH": str(ROOT),  # the plug-in shares a module with the light gateway
            "TEMP": str(self._scratch / "tmp"),
            "XDG_CACHE_HOME": str(self._environment / "cache"),
            "FILESYSTEM_ROOT": str(self._scratch),
            "GATEWAY_LISTEN": f"127.0.0.1:{self._port}",
            "LOCALSTACK_HOST": f"127.0.0.1:{self._port}",
            **self._settings,
        }


def ready_within_s(journal: Path) -> float:
    """How long a start may take: all that was ever changed is replayed, and days make it much."""
    journal_bytes = journal.stat().st_size if journal.exists() else 0
    return _READY_TIMEOUT_S + journal_bytes / _REPLAYED_BYTES_PER_S_MIN


_QUEUE: Final = "fleetlane-uploads"
_DEAD: Final = f"{_QUEUE}-dead"
_AGAIN_AFTER_S: Final = "10"
_RECEIVES_MAX: Final = 100


def ensure_upload_queue(aws: Mapping[str, Any], bucket: str) -> str:
    """Make the queues unless they are there, let S3 notify, and return the queue's URL."""
    redrive = {"deadLetterTargetArn": _arn(_DEAD), "maxReceiveCount": _RECEIVES_MAX}
    with closing(boto3.client("sqs", **aws)) as sqs:
        sqs.create_queue(QueueName=_DEAD)
        url = sqs.create_queue(
            QueueName=_QUEUE,
            Attributes={"VisibilityTimeout": _AGAIN_AFTER_S, "RedrivePolicy": json.dumps(redrive)},
        )["QueueUrl"]
    notify_of_uploads(aws, bucket)
    return url


def notify_of_uploads(aws: Mapping[str, Any], bucket: str) -> None:
    """Let the bucket notify the queue, which exists, of every upload."""
    uploaded: Any = {
        "QueueArn": _arn(_QUEUE),
        "Events": ["s3:ObjectCreated:*"],
        "Filter": {"Key": {"FilterRules": [{"Name": "prefix", "Value": UPLOADS}]}},
    }
    with closing(boto3.client("s3", **aws)) as s3:
        s3.put_bucket_notification_configuration(
            Bucket=bucket, NotificationConfiguration={"QueueConfigurations": [uploaded]}
        )


def _arn(queue: str) -> str:
    return f"arn:aws:sqs:{REGION}:000000000000:{queue}"
