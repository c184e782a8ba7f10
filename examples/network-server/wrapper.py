"""Takes a network server's webhooks, and sends each uplink to Fleetlane as its device's message.

Run it with FLEETLANE_API, GATEWAY_ID, GATEWAY_KEY (the file of its private key, a JWK) and
WEBHOOK_SECRET in the environment.
"""  # noqa: INP001 - a program

import base64
import hmac
import json
import os
import time
import urllib.error
import urllib.request
from collections.abc import Mapping
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import jwt

STREAM = "lht65"
AUDIENCE = os.environ.get("FLEETLANE_AUDIENCE", "fleetlane-local")  # noqa: TID251 - its settings
BODY_BYTES_MAX = 1 << 20
TOKEN_S = 12 * 3600
ANSWER_S = 30


def entry_of(webhook: bytes) -> dict[str, str] | None:
    """The entry of a batch for an uplink, or None: joins and acknowledgements have no readings."""
    event: Any = json.loads(webhook)
    if "uplink_message" in event:  # The Things Stack
        uplink, device = event["uplink_message"], event["end_device_ids"]["dev_eui"]
        key = f"{uplink.get('session_key_id', '')}-{uplink.get('f_cnt', 0)}"
    elif "deduplicationId" in event and "data" in event:  # ChirpStack
        device, key = event["deviceInfo"]["devEui"], event["deduplicationId"]
    else:
        return None
    return {
        "specversion": "1.0",
        "id": f"{device.lower()}-{key}",
        "source": f"/devices/{device.lower()}",
        "type": STREAM,
        "datacontenttype": "application/json",
        "data_base64": base64.b64encode(webhook).decode(),
    }


class Gateway:
    """Sends batches with a token of its own, which it signs anew every few hours."""

    def __init__(self, api: str, device_id: str, jwk: Mapping[str, Any]) -> None:
        self._api, self._device_id, self._jwk = api, device_id, jwk
        self._token, self._until_s = "", 0.0

    def status_of(self, entry: Mapping[str, str]) -> int:
        """Send one entry; 202 says that it is durable."""
        request = urllib.request.Request(  # noqa: S310 - the address is a setting
            f"{self._api}/v1/batch",
            data=json.dumps([entry]).encode(),
            headers={
                "Authorization": f"Bearer {self._signed()}",
                "Content-Type": "application/cloudevents-batch+json",
            },
        )
        try:
            with urllib.request.urlopen(request, timeout=ANSWER_S) as answer:  # noqa: S310
                (receipt,) = json.load(answer)["receipts"]
                return int(receipt["status"])
        except urllib.error.HTTPError as problem:
            return problem.code
        except OSError:
            return 503

    def _signed(self) -> str:
        now_s = int(time.time())
        if now_s > self._until_s - 3600:
            claims = {"sub": self._device_id, "aud": AUDIENCE, "iat": now_s, "exp": now_s + TOKEN_S}
            private, kid = jwt.PyJWK(dict(self._jwk)).key, {"kid": self._jwk["kid"]}
            self._token = jwt.encode(claims, private, algorithm="EdDSA", headers=kid)
            self._until_s = now_s + TOKEN_S
        return self._token


def server(port: int, gateway: Gateway, secret: str) -> ThreadingHTTPServer:
    """Answers a webhook once its message is durable; what is refused can come again."""

    class Webhook(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            body = self.rfile.read(min(int(self.headers.get("Content-Length", 0)), BODY_BYTES_MAX))
            given = self.headers.get("X-Webhook-Secret", "")
            if not hmac.compare_digest(given.encode(), secret.encode()):
                self._answer(401)
                return
            try:
                entry = entry_of(body)
            except (ValueError, KeyError, TypeError, AttributeError):
                self._answer(400)
                return
            self._answer(204 if entry is None else gateway.status_of(entry))

        def _answer(self, status: int) -> None:
            self.send_response(status)
            self.send_header("Content-Length", "0")
            self.end_headers()

    return ThreadingHTTPServer(("", port), Webhook)


if __name__ == "__main__":
    settings = os.environ  # noqa: TID251 - its settings
    key = json.loads(Path(settings["GATEWAY_KEY"]).read_text())
    sending = Gateway(settings["FLEETLANE_API"], settings["GATEWAY_ID"], key)
    server(8088, sending, settings["WEBHOOK_SECRET"]).serve_forever()
