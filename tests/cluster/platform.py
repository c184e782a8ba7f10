"""The whole platform on a cluster: three brokers, a Spark master with three workers."""

from collections.abc import Callable, Mapping
from dataclasses import replace
from pathlib import Path

import msgspec

from benchmarks.running.spark_cluster import SparkCluster
from fleetlane.events.flows.files import flows_in
from fleetlane.events.flows.flow import topics_of
from local.checkout import BROKER_JARS, FLOWS
from local.platform import Platform, PlatformSettings
from local.servers.processes import ServerProcess
from local.spark.jobs import Application, JobSettings
from operations import endpoints
from tests.cluster.drivers import CHECKPOINTS, CODE, Driver, upload_code
from tests.cluster.kafka_cluster import KafkaCluster


class ClusterPlatform(Platform):
    """A laptop's platform but for Kafka and Spark. ``jobs_built`` is what a deploy uploads.

    The jobs alone reach each broker by way of a proxy.
    """

    spark: SparkCluster

    def __init__(self, settings: PlatformSettings, *, jobs_built: Path) -> None:
        super().__init__(settings)
        self._built = jobs_built
        topics = topics_of(flows_in(FLOWS).values())
        folder = settings.folder.resolve() / "kafka-cluster"
        self.broker = self.kafka = KafkaCluster(folder, jars=BROKER_JARS, topics=topics)

    def start(
        self, on_step: Callable[[str], None], *, before_jobs: Callable[[], object] = lambda: None
    ) -> endpoints.Endpoints:
        self._before_jobs = before_jobs
        for one in self.kafka.brokers:
            self.enter_context(one.proxy)
        return super().start(on_step, before_jobs=self._start_cluster)

    def _start_cluster(self) -> None:
        for bucket in (CODE, CHECKPOINTS):
            self.aws.ensure_bucket(bucket)
        upload_code(self.s3, self._built)
        self._start_together(*self.spark.nodes)
        self._before_jobs()

    def _application(self, settings: JobSettings, application: Application) -> ServerProcess:
        if application is Application.LANES:
            self.spark = SparkCluster(self.settings.folder.resolve() / "spark", aws=self.aws)
        return Driver(settings, application, cluster=self.spark, jobs=self._built)

    def another_driver(self, name: str, spark_settings: Mapping[str, str]) -> Driver:
        """Another one of the lanes, on the same checkpoints; not started, and kept by nobody."""
        settings = replace(self._job_settings(), folder=self._folder(name))
        driver = Driver(
            settings,
            Application.LANES,
            cluster=self.spark,
            jobs=self._built,
            spark_settings=spark_settings,
        )
        self.callback(driver.stop)
        return driver

    def _job_settings(self) -> JobSettings:
        settings = super()._job_settings()
        resources = msgspec.structs.replace(
            settings.resources, kafka_bootstrap_servers=self.kafka.proxied_servers
        )
        return replace(settings, resources=resources)
