"""``fleetlane device quarantine|revoke|release|rate-limit``: restricts devices, at once."""

import time
from typing import Annotated

import typer

from fleetlane.cli.options.stage import PlatformOptions
from fleetlane.events.errors import FleetlaneError
from fleetlane.events.names import checked_device_id
from fleetlane.events.overrides import Overrides, RateLimits, Restriction
from operations.platform import Platform

DeviceIds = Annotated[list[str], typer.Argument(metavar="ID...", help="One or more ids.")]


class BadRateLimitError(FleetlaneError):
    """Rate limits that cannot be."""

    reason = "bad_ceiling"
    problem: str
    sentence = "{problem}"


def quarantine(device_ids: DeviceIds, *, where: PlatformOptions) -> None:
    """Divert these devices' messages to the bulk lane, within 15 seconds."""
    _restrict(device_ids, Restriction.QUARANTINED, where.platform())


def revoke(device_ids: DeviceIds, *, where: PlatformOptions) -> None:
    """Refuse these devices' messages, within 15 seconds, whatever their tokens."""
    _restrict(device_ids, Restriction.REVOKED, where.platform())


def release(device_ids: DeviceIds, *, where: PlatformOptions) -> None:
    """Lift quarantine and revocation; a refused token is accepted after five more minutes."""
    stores = where.platform().devices
    stores.trust.release(_checked(device_ids), now_ms=_now_ms())
    typer.echo(f"released: {', '.join(device_ids)}")


def rate_limit(
    device_id: Annotated[
        str | None, typer.Argument(metavar="[ID]", help="One device; without it, all.")
    ] = None,
    *,
    soft: Annotated[
        int | None, typer.Option(min=1, help="Messages a minute; beyond, to the bulk lane.")
    ] = None,
    hard: Annotated[
        int | None, typer.Option(min=1, help="Messages a minute; beyond, refused (429).")
    ] = None,
    clear: Annotated[bool, typer.Option("--clear", help="Remove these rate limits.")] = False,
    where: PlatformOptions,
) -> None:
    """Set how many messages a minute a device may send, in place of the stage's rate limits."""
    rate_limits = _rate_limits(soft, hard, is_cleared=clear)
    stores = where.platform().devices
    of = None if device_id is None else checked_device_id(device_id)

    def changed(present: Overrides) -> Overrides:
        return present.with_rate_limits(rate_limits, device_id=of)

    stores.overrides.change(changed, now_ms=_now_ms())
    what = "none of its own" if rate_limits is None else f"{soft} (soft), {hard} (hard) a minute"
    typer.echo(f"rate limits of {device_id or 'all devices'}: {what}")


def _rate_limits(soft: int | None, hard: int | None, *, is_cleared: bool) -> RateLimits | None:
    if is_cleared and soft is None and hard is None:
        return None
    if is_cleared or soft is None or hard is None:
        raise BadRateLimitError("give both --soft and --hard, or --clear alone")
    if soft > hard:
        raise BadRateLimitError(f"--soft is {soft}; the limit is --hard, {hard}")
    return RateLimits(soft_per_minute=soft, hard_per_minute=hard)


def _restrict(device_ids: list[str], restriction: Restriction, platform: Platform) -> None:
    platform.devices.trust.restrict(_checked(device_ids), restriction, now_ms=_now_ms())
    typer.echo(f"{restriction}: {', '.join(device_ids)}")


def _checked(device_ids: list[str]) -> list[str]:
    return [checked_device_id(device_id) for device_id in device_ids]


def _now_ms() -> int:
    return int(time.time() * 1000)
