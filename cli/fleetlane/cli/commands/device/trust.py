"""``fleetlane device quarantine|revoke|release|rate-limit``: restricts devices, at once."""

from typing import Annotated, Any

import typer

from fleetlane.cli.options.selection import BadOptionsError
from fleetlane.cli.options.stage import PlatformOptions
from fleetlane.events import overrides
from fleetlane.events.names import checked_device_id
from fleetlane.events.overrides import RateLimits, Restriction
from fleetlane.events.times import now_ms
from operations.devices.stores import DeviceStores

DeviceIds = Annotated[list[str], typer.Argument(metavar="ID...", help="One or more ids.")]


def quarantine(device_ids: DeviceIds, *, where: PlatformOptions) -> None:
    """Divert these devices' messages to the bulk lane, within 15 seconds."""
    stores = where.platform().devices
    _restrict([stores.named(one) for one in device_ids], Restriction.QUARANTINED, stores)


def revoke(device_ids: DeviceIds, *, where: PlatformOptions) -> None:
    """Refuse these devices' messages, within 15 seconds, whatever their tokens.

    Ids are given whole here: a beginning could be another device's.
    """
    checked = [checked_device_id(one) for one in device_ids]
    _restrict(checked, Restriction.REVOKED, where.platform().devices)


def release(device_ids: DeviceIds, *, where: PlatformOptions) -> None:
    """Lift quarantine and revocation; a refused token is accepted after five more minutes."""
    stores = where.platform().devices
    named = [stores.named(one) for one in device_ids]
    stores.release(named, now_ms=now_ms())
    typer.echo(f"released: {', '.join(named)}")


def _messages(beyond: str) -> Any:
    most = overrides.MESSAGES_PER_MINUTE_MAX
    return typer.Option(min=1, max=most, help=f"Messages a minute; beyond, {beyond}.")


def _bytes(beyond: str) -> Any:
    most = overrides.BYTES_PER_MINUTE_MAX
    return typer.Option(min=1, max=most, help=f"Bytes a minute; beyond, {beyond}.")


def rate_limit(
    device_id: Annotated[
        str | None, typer.Argument(metavar="[ID]", help="One device; without it, all.")
    ] = None,
    *,
    soft: Annotated[int | None, _messages("to the bulk lane")] = None,
    hard: Annotated[int | None, _messages("refused (429)")] = None,
    soft_bytes: Annotated[int, _bytes("to the bulk lane")] = overrides.SOFT_BYTES_PER_MINUTE,
    hard_bytes: Annotated[int, _bytes("a 429")] = overrides.HARD_BYTES_PER_MINUTE,
    clear: Annotated[bool, typer.Option(help="Remove these rate limits.")] = False,
    where: PlatformOptions,
) -> None:
    """Set how much a minute a device may send, in place of the stage's rate limits."""
    if soft_bytes > hard_bytes:
        problem = f"--soft-bytes is {soft_bytes}; the limit is --hard-bytes, {hard_bytes}"
        raise BadOptionsError(problem)
    if clear and soft is None and hard is None:
        rate_limits: RateLimits | None = None
    elif clear or soft is None or hard is None:
        raise BadOptionsError("give both --soft and --hard, or --clear alone")
    elif soft > hard:
        raise BadOptionsError(f"--soft is {soft}; the limit is --hard, {hard}")
    else:
        rate_limits = RateLimits(
            soft_per_minute=soft,
            hard_per_minute=hard,
            soft_bytes_per_minute=soft_bytes,
            hard_bytes_per_minute=hard_bytes,
        )
    stores = where.platform().devices
    of = None if device_id is None else stores.named(device_id)
    stores.overrides.change(
        lambda present: present.with_rate_limits(rate_limits, device_id=of), now_ms=now_ms()
    )
    what = "none of its own" if rate_limits is None else f"{soft} (soft), {hard} (hard) a minute"
    typer.echo(f"rate limits of {of or 'all devices'}: {what}")


def _restrict(device_ids: list[str], restriction: Restriction, stores: DeviceStores) -> None:
    stores.restrict(device_ids, restriction, now_ms=now_ms())
    typer.echo(f"{restriction}: {', '.join(device_ids)}")
