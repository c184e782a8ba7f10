"""Batches as a gateway writes them."""

import json
from collections.abc import Mapping
from typing import Any

from lambdas.ingest.dispatcher import Dispatcher
from tests.unit.lambdas.api_gateway import ACTIVE, Answer, post

BATCH = {"Content-Type": "application/cloudevents-batch+json"}


def entry(event_id: str = "e-1", *, device: str = "d-1", **more: Any) -> dict[str, Any]:
    """An entry of stream ``thermo``; without ``data`` among ``more``, an empty message."""
    return {
        "specversion": "1.0",
        "id": event_id,
        "source": f"/devices/{device}",
        "type": "thermo",
        **more,
    }


def post_batch(
    routes: Dispatcher,
    *entries: object,
    headers: Mapping[str, str] = BATCH,
    identity: Mapping[str, str] | None = ACTIVE,
) -> Answer:
    document = json.dumps(entries).encode()
    return post(routes, "/v1/batch", document, headers=headers, identity=identity)


def tags(answer: Answer) -> list[str]:
    """Of each receipt the tag of its problem, or nothing where the entry is durable."""
    return [str(one.get("type", "")).rpartition(":")[2] for one in answer.body["receipts"]]
