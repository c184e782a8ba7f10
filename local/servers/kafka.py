"""A real Apache Kafka broker (KRaft, one node) on 127.0.0.1, without Docker."""

import base64
import os
import shutil
import subprocess
import uuid
from collections.abc import Sequence
from pathlib import Path
from string import Template
from typing import Final

from confluent_kafka import KafkaException
from confluent_kafka.admin import AdminClient

from fleetlane.events.errors import FleetlaneError
from local.servers.java import SHORT_LIVED
from local.servers.ports import remembered_port
from local.servers.processes import ServerDiedError, ServerProcess

_FORMAT_TIMEOUT_S = 60.0
_READY_TIMEOUT_S = 60.0
_STOP_GRACE_S = 30.0
_HOME: Final = os.environ.get("JAVA_HOME")  # noqa: TID251 - as the set-up and Spark choose
_JAVA: Final = f"{_HOME}/bin/java" if _HOME else "java"
_PROPERTIES: Final = Path(__file__).with_name("kafka.properties")


class JavaMissingError(FleetlaneError):
    """There is no ``java``."""

    sentence = "Kafka needs Java 17, and there is none in JAVA_HOME or on the PATH: install one"


class KafkaJarsMissingError(FleetlaneError):
    """The folder of the broker's jars holds no broker."""

    jars: Path
    sentence = "there are no Kafka jars in {jars}: the set-up fetches them"


class KafkaBroker(ServerProcess):
    """One broker with its data, ports and log in ``folder``; comes back on the same address.

    Topics are not created by using them. A stopped or killed broker may be started again, here or
    by another process later. ``jars`` is where ``kafka_2.13`` and all that it needs lie.
    """

    def __init__(
        self,
        folder: Path,
        *,
        jars: Path,
        heap_mb: int = 384,
        java_options: Sequence[str] = SHORT_LIVED,
    ) -> None:
        self._java_options = java_options
        self._folder, self._jars, self._heap_mb = folder.resolve(), jars.resolve(), heap_mb
        self._data, self._properties = self._folder / "data", self._folder / "server.properties"
        self._port: int | None = None
        super().__init__(
            "Kafka",
            self._java("kafka.Kafka", str(self._properties)),
            log_path=self._folder / "kafka.log",
            cwd=self._folder,
            grace_s=_STOP_GRACE_S,
        )

    @property
    def bootstrap_servers(self) -> str:
        """``host:port`` for clients. Known once started, and the same after each restart."""
        assert self._port is not None, "not started yet"
        return f"127.0.0.1:{self._port}"

    def start(self) -> None:
        """Start the broker and wait until it answers; formats its folder the first time."""
        if shutil.which(_JAVA) is None:
            raise JavaMissingError
        if not any(self._jars.glob("kafka_2.13-*.jar")):
            raise KafkaJarsMissingError(self._jars)
        super().start()
        admin = AdminClient({"bootstrap.servers": self.bootstrap_servers, "log_level": 0})
        self.wait_ready(lambda: _answers(admin), timeout_s=_READY_TIMEOUT_S)

    def _prepare(self) -> None:
        self._port = remembered_port(self._folder / "port.json")
        while (controller := remembered_port(self._folder / "controller_port.json")) == self._port:
            (self._folder / "controller_port.json").unlink()
        settings = self._settings(controller)
        self._properties.write_text("".join(f"{name}={at}\n" for name, at in settings.items()))
        self._format_once()

    def _settings(self, controller_port: int) -> dict[str, str]:
        """What ``kafka.properties`` says; a broker with more listeners adds to it."""
        properties = Template(_PROPERTIES.read_text()).substitute(
            port=self._port, controller_port=controller_port, data=self._data
        )
        lines = (line for line in properties.splitlines() if not line.startswith("#"))
        return dict(line.split("=", 1) for line in lines)

    def _java(self, *arguments: str) -> list[str]:
        quiet = ("-Djava.awt.headless=true", "-Dorg.slf4j.simpleLogger.defaultLogLevel=warn")
        options = (f"-Xmx{self._heap_mb}m", *self._java_options, *quiet)
        return [_JAVA, *options, "-cp", f"{self._jars}/*", *arguments]

    def _new_cluster_id(self) -> str:
        """Its own; brokers of one cluster have one id together."""
        return base64.urlsafe_b64encode(uuid.uuid4().bytes).decode().rstrip("=")

    def _format_once(self) -> None:
        """Write the cluster's identity. A format cut short is begun again: it held no record."""
        formatted = self._folder / "cluster_id"
        if formatted.exists():
            return
        shutil.rmtree(self._data, ignore_errors=True)
        cluster_id = self._new_cluster_id()
        # One word: an id may begin with a dash.
        arguments = ("format", f"--cluster-id={cluster_id}", "-c", str(self._properties))
        with self.log_path.open("wb") as log:
            code = subprocess.run(  # noqa: S603 - our own command, never a shell
                self._java("kafka.tools.StorageTool", *arguments),
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
                check=False,
                timeout=_FORMAT_TIMEOUT_S,
            ).returncode
        if code != 0:
            raise ServerDiedError("Kafka's format", code, self.log_path, self.log_tail())
        formatted.write_text(f"{cluster_id}\n")


def _answers(admin: AdminClient) -> bool:
    try:
        return bool(admin.list_topics(timeout=1).brokers)
    except KafkaException:
        return False
