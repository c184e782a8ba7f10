"""The door: each message is let in, sent aside or turned away before anything else is done."""

from collections.abc import Sequence
from copy import replace
from dataclasses import dataclass
from typing import Protocol

from fleetlane.events.errors import FleetlaneError
from lambdas.http.rate_limiter import RateLimiter
from lambdas.ingest.service import Receipt
from lambdas.ingest.uploads import Upload


class Lander(Protocol):
    """Takes messages in; ``lambdas.ingest.reception.Reception`` is one."""

    def land(self, upload: Upload) -> Receipt: ...

    def land_all(
        self, uploads: Sequence[Upload], *, until_s: float
    ) -> Sequence[Receipt | FleetlaneError]: ...


@dataclass(frozen=True, slots=True, kw_only=True)
class Admittance:
    """Another lander, for those alone who may send now."""

    rate_limiter: RateLimiter
    lander: Lander

    def land(self, upload: Upload) -> Receipt:
        """Land a message.

        Raises:
            RevokedDeviceError: Its device, or its gateway, may not send any more.
            TooManyMessagesError: Its device may send again later.
            FleetlaneError: As the other does.
        """
        if self.rate_limiter.is_diverted(
            upload.device_id, now_ms=upload.arrival_millis, via=upload.via
        ):
            upload = replace(upload, is_quarantined=True)
        return self.lander.land(upload)

    def land_all(
        self, uploads: Sequence[Upload], *, until_s: float
    ) -> list[Receipt | FleetlaneError]:
        """Do so with many; in the place of one that did not land stands its error."""
        tried = [self._admitted(one) for one in uploads]
        admitted = [one for one in tried if isinstance(one, Upload)]
        landed = iter(self.lander.land_all(admitted, until_s=until_s))
        return [next(landed) if isinstance(one, Upload) else one for one in tried]

    def _admitted(self, upload: Upload) -> Upload | FleetlaneError:
        try:
            is_diverted = self.rate_limiter.is_diverted(
                upload.device_id, now_ms=upload.arrival_millis, via=upload.via
            )
        except FleetlaneError as refused:
            return refused
        return replace(upload, is_quarantined=True) if is_diverted else upload
