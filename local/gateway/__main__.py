"""Serves the gateway on 127.0.0.1: ``python -m local.gateway --port 8080``.

Respool and the sweep run on a schedule beside it, and the messages of the upload queue land
uploads, as in AWS. The functions read their settings from the environment. Ends cleanly on SIGTERM.
"""

import argparse

import boto3
import uvicorn

from lambdas.authorizer import handler as authorizer
from lambdas.ingest import handler as ingest
from lambdas.respool import handler as respool
from lambdas.uploads import handler as uploads
from local.gateway.app import Gateway, GatewaySettings
from local.gateway.functions import Handler, QueueSource, Schedule


def main(handle_ingest: Handler = ingest.handle) -> None:
    parser = argparse.ArgumentParser(prog="python -m local.gateway")
    parser.add_argument("--port", type=int, required=True)
    parser.add_argument("--upload-queue", metavar="URL", required=True)
    arguments = parser.parse_args()
    gateway = Gateway(
        ingest=handle_ingest,
        uploads=uploads.handle,
        authorizer=authorizer.handle,
        settings=GatewaySettings(),
    )
    sources = (
        Schedule(respool.handle, name="respool", every_s=1),  # in AWS it is a minute
        Schedule(uploads.sweep, name="sweep", every_s=5),  # and a quarter of an hour
        QueueSource(uploads.land, boto3.client("sqs"), url=arguments.upload_queue, name="uploads"),
    )
    for source in sources:
        source.start()
    uvicorn.run(
        gateway.app(),
        host="127.0.0.1",
        port=arguments.port,
        access_log=False,
        log_level="warning",
        timeout_graceful_shutdown=5,
    )
    for source in sources:
        source.stop()
    gateway.close()


if __name__ == "__main__":
    main()
