"""One running gateway, for the tests of it."""

import asyncio
from collections.abc import Iterator
from typing import Any

import httpx
import pytest

from local.gateway.app import Gateway, GatewaySettings
from tests.unit.local.gateway_calls import FakeClock, FakeFunctions, Send


@pytest.fixture
def functions() -> FakeFunctions:
    return FakeFunctions()


@pytest.fixture
def clock() -> FakeClock:
    return FakeClock()


@pytest.fixture
def timeout_s() -> float:
    """How long the gateway waits for a function; a test may say less."""
    return 29


@pytest.fixture
def send(functions: FakeFunctions, clock: FakeClock, timeout_s: float) -> Iterator[Send]:
    """One running gateway; requests to it, one after another."""
    settings = GatewaySettings(rate_per_s=1, burst=4, timeout_s=timeout_s, threads=2)
    gateway = Gateway(
        ingest=functions.ingest,
        uploads=functions.issue,
        authorizer=functions.authorize,
        settings=settings,
        clock_s=clock,
    )
    app = gateway.app()

    def send_one(method: str, path: str, **request: Any) -> httpx.Response:
        async def sent() -> httpx.Response:
            transport = httpx.ASGITransport(app)
            async with httpx.AsyncClient(transport=transport, base_url="http://local") as client:
                return await client.request(method, path, **request)

        return asyncio.run(sent())

    yield send_one
    gateway.close()
