"""Replays of parked messages by the console: signed, confirmed, and one at a time."""

import hmac
import json
import threading

from fleetlane.events.errors import FleetlaneError
from fleetlane.events.times import now_ms
from operations.console.pages import Page
from operations.messages.parked import ParkedFilter
from operations.platform import Platform
from operations.replay import landing
from operations.replay.plans import parked_plan


class ReplayError(FleetlaneError):
    """A replay was not begun, or did not come to its end."""


class Replays:
    """Replays what a flow has parked for a reason. For use by several threads."""

    def __init__(self, platform: Platform, *, token: str) -> None:
        self._platform, self._token, self._running = platform, token.encode(), threading.Lock()
        self._began_ms = dict[tuple[str, str], int]()

    def signed(self, stream: str, reason: str, shown_ms: object = "") -> str:
        """What a form has beside these, so that no page but the console's can ask for them."""
        text = json.dumps([stream, reason, str(shown_ms)])
        return hmac.digest(self._token, text.encode(), "sha256").hex()

    def page(self, stream: str, reason: str, shown_ms: str) -> Page:
        """What would be replayed; or what was, where it was shown before at ``shown_ms``.

        Blocks, behind others. Raises ``ReplayError``, and what planning a replay raises.
        """
        until_ms = int(shown_ms or now_ms())  # what is parked later was not shown
        wanted = ParkedFilter(stream=stream, reason=reason, until_ms=until_ms)
        with self._running:
            if until_ms <= self._began_ms.get((stream, reason), 0):
                raise ReplayError("these messages were replayed since they were shown")
            self._platform.publisher.check_stream(stream)
            stores, limit, landed = self._platform.messages, landing.REPLAYED_MAX, [0]
            records, bodies = stores.records(), stores.payloads
            plan = parked_plan(records, bodies, wanted, includes_parsed=False, messages_max=limit)
            if shown_ms:
                self._began_ms[stream, reason] = now_ms()
                try:
                    landing.replay(plan, records, stores.producer(), on_landed=landed.append)
                except FleetlaneError as problem:
                    raise ReplayError(f"{problem}; {landing.progress(plan, landed[-1])}") from None
        notes = landing.result_lines(plan, landed[-1] if shown_ms else None)
        if plan.expired:
            notes.append(str(landing.PayloadsExpiredError(plan.expired)))
        shown = {"wanted": wanted, "limit": limit, "confirms": plan.attempts and not shown_ms}
        title, template = f"Replay of {stream}, {reason}", "replay.html.j2"
        return Page(title=title, template=template, shown=shown, notes=notes)
