"""What a scan of the registry costs: its pages and read units by DynamoDB's rules, boto3's time.

An item has one key, as a device that signs for itself. A page has a mebibyte of items as they are
kept; a scan bills half a unit for each 4 KiB of them, and gives of an item what is asked for.
"""

import io
import json
import math
import time
from collections.abc import Iterator, Mapping
from itertools import batched
from typing import Any, Final

from botocore import UNSIGNED
from botocore.awsrequest import AWSRequest, AWSResponse
from botocore.compat import HTTPHeaders
from botocore.config import Config

from clients.aws import AwsSettings, dynamodb_table
from operations.devices.stores import DeviceAdministration

PAGE_BYTES: Final = 1 << 20
UNIT_BYTES: Final = 4 << 10
MILLION: Final = 1_000_000
_KEY: Final = {"kid": "key-1", "kty": "EC", "crv": "P-256", "x": "x" * 43, "y": "y" * 43}
_MAP_BYTES: Final = 3
"""Besides a map's or list's elements, each of which takes a byte more."""


def scan_numbers(devices: int) -> dict[str, float]:
    """Of a million devices what DynamoDB counts; of ``devices`` how long boto3 reads."""
    return {
        "registry_item_bytes": item_bytes(),
        "registry_pages": math.ceil(MILLION / _items_a_page()),
        "registry_read_units": math.ceil(MILLION * item_bytes() / UNIT_BYTES / 2),
        "registry_read_devices": devices,
        "registry_read_s": round(_read_s(devices), 3),
    }


def item_bytes() -> int:
    """An item's size as DynamoDB counts it: its attributes' names and values."""
    named = sum(len(name) + len(value) for name, value in _attributes(0).items())
    number = len("registered_ms") + math.ceil(len("1728000000000") / 2) + 1
    key = sum(len(name) + len(value) + 1 for name, value in _KEY.items()) + _MAP_BYTES
    return named + number + len("keys") + _MAP_BYTES + 1 + key


def _items_a_page() -> int:
    return PAGE_BYTES // item_bytes()


def _attributes(number: int) -> Mapping[str, str]:
    return {"device_id": f"d-{number:07d}", "device_type": "type-1", "status": "active"}


def _read_s(devices: int) -> float:
    """Read pages that come from no network."""
    pages = iter(list(_pages(devices)))
    nowhere = AwsSettings(region_name="eu-central-1")
    table = dynamodb_table(nowhere, "registry", config=Config(signature_version=UNSIGNED))

    def answer(request: AWSRequest, **_: object) -> Any:
        return AWSResponse(str(request.url), 200, HTTPHeaders(), _Body(next(pages)))

    table.meta.client.meta.events.register("before-send.dynamodb.Scan", answer)
    began_s = time.perf_counter()
    found = sum(1 for _ in DeviceAdministration(table).all_without_keys())
    taken_s = time.perf_counter() - began_s
    if found != devices:
        raise ValueError(f"{found} of {devices} devices came out of the pages")
    return taken_s


def _pages(devices: int) -> Iterator[bytes]:
    for numbers in batched(range(devices), _items_a_page(), strict=False):
        items = [
            {name: {"S": value} for name, value in _attributes(number).items()}
            | {"registered_ms": {"N": "1728000000000"}}
            for number in numbers
        ]
        page: dict[str, Any] = {"Items": items, "Count": len(items), "ScannedCount": len(items)}
        if numbers[-1] + 1 < devices:
            page["LastEvaluatedKey"] = {"device_id": items[-1]["device_id"]}
        yield json.dumps(page).encode()


class _Body(io.BytesIO):
    def stream(self) -> Iterator[bytes]:
        yield self.read()
