"""Serves the gateway on 127.0.0.1: ``python -m local.gateway --port 8080``.

Beside it, respool runs every second. The functions read their own settings from the environment.
Ends cleanly on SIGTERM.
"""

import argparse

import uvicorn

from lambdas.authorizer import handler as authorizer
from lambdas.ingest import handler as ingest
from lambdas.respool import handler as respool
from local.gateway.app import Gateway, GatewaySettings
from local.gateway.schedule import Schedule

_GRACE_S = 5
_RESPOOL_EVERY_S = 1.0
"""In AWS it is a minute; here somebody looks on."""


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m local.gateway")
    parser.add_argument("--port", type=int, required=True)
    parser.add_argument("--rate", type=float, default=GatewaySettings().rate_per_s)
    parser.add_argument("--burst", type=int, default=GatewaySettings().burst)
    arguments = parser.parse_args()
    settings = GatewaySettings(rate_per_s=arguments.rate, burst=arguments.burst)
    gateway = Gateway(ingest=ingest.handle, authorizer=authorizer.handle, settings=settings)
    respooling = Schedule(respool.handle, name="respool", every_s=_RESPOOL_EVERY_S)
    respooling.start()
    uvicorn.run(
        gateway.app(),
        host="127.0.0.1",
        port=arguments.port,
        access_log=False,
        log_level="warning",
        timeout_graceful_shutdown=_GRACE_S,
    )
    respooling.stop()


if __name__ == "__main__":
    main()
