"""Serves the gateway on 127.0.0.1: ``python -m local.gateway --port 8080``.

Beside it, respool and the sweep run by the clock, and with ``--upload-queue`` uploads are landed by
its messages, as in AWS. The functions read their own settings from the environment. Ends cleanly
on SIGTERM.
"""

import argparse

import boto3
import uvicorn

from lambdas.authorizer import handler as authorizer
from lambdas.ingest import handler as ingest
from lambdas.respool import handler as respool
from lambdas.uploads import handler as uploads
from local.gateway.app import Gateway, GatewaySettings
from local.gateway.queue_source import Queue, QueueSource
from local.gateway.schedule import Schedule

_GRACE_S = 5
_RESPOOL_EVERY_S = 1.0
"""In AWS it is a minute; here somebody looks on."""
_SWEEP_EVERY_S = 5.0
"""In AWS it is a quarter of an hour."""


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m local.gateway")
    parser.add_argument("--port", type=int, required=True)
    parser.add_argument("--rate", type=float, default=GatewaySettings().rate_per_s)
    parser.add_argument("--burst", type=int, default=GatewaySettings().burst)
    parser.add_argument("--upload-queue", metavar="URL")
    arguments = parser.parse_args()
    settings = GatewaySettings(rate_per_s=arguments.rate, burst=arguments.burst)
    gateway = Gateway(
        ingest=ingest.handle,
        uploads=uploads.handle,
        authorizer=authorizer.handle,
        settings=settings,
    )
    schedules = (
        Schedule(respool.handle, name="respool", every_s=_RESPOOL_EVERY_S),
        Schedule(uploads.sweep, name="sweep", every_s=_SWEEP_EVERY_S),
    )
    for schedule in schedules:
        schedule.start()
    if arguments.upload_queue:
        queue = Queue(sqs=boto3.client("sqs"), url=arguments.upload_queue)
        QueueSource(uploads.land, queue, name="uploads").start()
    uvicorn.run(
        gateway.app(),
        host="127.0.0.1",
        port=arguments.port,
        access_log=False,
        log_level="warning",
        timeout_graceful_shutdown=_GRACE_S,
    )
    for schedule in schedules:
        schedule.stop()


if __name__ == "__main__":
    main()
