"""Serves the gateway on 127.0.0.1: ``python -m local.gateway --port 8080``.

With ``--upload-queue`` it also calls the functions that land uploads, as Lambda does: for
notifications in the queue, and by the clock. All functions read their own settings from the
environment. Ends cleanly on SIGTERM.
"""

import argparse

import boto3
import uvicorn

from lambdas.authorizer import handler as authorizer
from lambdas.ingest import handler as ingest
from lambdas.uploads import handler as uploads
from local.gateway.app import Gateway, GatewaySettings
from local.gateway.triggers import Queue, call_by_the_clock, call_for_messages, in_background

_GRACE_S = 5
_SWEEP_EVERY_S = 5.0


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
    if arguments.upload_queue:
        queue = Queue(sqs=boto3.client("sqs"), url=arguments.upload_queue)
        in_background(lambda: call_for_messages(uploads.land, queue, name="uploads"))
        in_background(lambda: call_by_the_clock(uploads.sweep, every_s=_SWEEP_EVERY_S))
    uvicorn.run(
        gateway.app(),
        host="127.0.0.1",
        port=arguments.port,
        access_log=False,
        log_level="warning",
        timeout_graceful_shutdown=_GRACE_S,
    )


if __name__ == "__main__":
    main()
