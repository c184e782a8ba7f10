"""docs/device-guide.md: what it shows does what it says."""

import os
import shutil
import subprocess
from pathlib import Path
from typing import Any, Final

import orjson
import pytest

from local.checkout import ROOT
from local.platform import Platform
from tests.e2e.devices import Device
from tests.readme.fences import fences_of

GUIDE: Final = (ROOT / "docs" / "device-guide.md").read_text()
HEADERS: Final = Path("/usr/include")
LIBCURL: Final = ("curl/curl.h", "*/curl/curl.h")
BASH: Final = ("bash", "-euo", "pipefail", "-c")
MAIN: Final = r"""
#include <string.h>
int main(int count, char **given) {
  if (count != 5) return 1;
  printf("%ld", send_once(given[1], given[2], given[3], given[4], (long)strlen(given[4]), 0));
  return 0;
}
"""

pytestmark = [pytest.mark.kafka, pytest.mark.localstack]


@pytest.mark.skipif(shutil.which("curl") is None, reason="the guide sends by curl")
@pytest.mark.parametrize("section", ["Send a message", "Many messages at once"])
def test_what_is_sent_by_curl_is_accepted(edge: Platform, device: Device, section: str) -> None:
    (fence,) = fences_of(GUIDE, section=section)

    printed = _run(fence.text, edge, device)

    receipts = printed.get("receipts", [printed])
    assert [one["lane"] for one in receipts] == ["standard"] * len(receipts)


@pytest.mark.skipif(
    shutil.which("cc") is None or not any(any(HEADERS.glob(one)) for one in LIBCURL),
    reason="needs cc, and libcurl's headers",
)
def test_the_example_in_c_sends_and_is_accepted(
    edge: Platform, device: Device, tmp_path: Path
) -> None:
    (fence,) = fences_of(GUIDE, section="In C, with libcurl")
    (tmp_path / "device.c").write_text(fence.text + MAIN)
    build = ["cc", "-Wall", "-Wextra", "-Werror", "device.c", "-lcurl", "-o", "device"]
    subprocess.run(build, cwd=tmp_path, check=True)

    sent = [
        subprocess.run(
            [
                str(tmp_path / "device"),
                f"{edge.endpoints.api}/v1/{path}",
                f"Authorization: Bearer {device.token()}",
                "Idempotency-Key: boot-17-message-7",
                "21.5",
            ],
            capture_output=True,
            text=True,
            check=True,
        ).stdout
        for path in ("streams/thermo", "streams/No-Stream", "nowhere/thermo")
    ]

    assert sent == ["-1", "3600", "3600"]


def test_the_example_in_micropython_sends_until_it_is_accepted(
    edge: Platform, device: Device
) -> None:
    (fence,) = fences_of(GUIDE, section="In MicroPython")
    example: dict[str, Any] = {}
    exec(compile(fence.text, "device-guide.md", "exec"), example)  # noqa: S102 - what it is for

    sent = [
        example["send"](edge.endpoints.api, lambda _: device.token(), "thermo", key, b"21.5")
        for key in ("boot-17-message-8", "k" * 257)
    ]

    assert sent == [True, False]


def _run(script: str, edge: Platform, device: Device) -> dict[str, Any]:
    environment = {
        **os.environ,  # noqa: TID251 - where curl is
        "API": edge.endpoints.api,
        "TOKEN": device.token(),
        "DEVICE": device.device_id,
    }
    done = subprocess.run([*BASH, script], env=environment, capture_output=True, check=True)
    found: dict[str, Any] = orjson.loads(done.stdout)
    return found
