"""When a device is to upload next: its own slot in a window, so that no fleet comes at once."""

import hashlib

_DIGEST_BYTES = 8


def next_upload_after_s(device_id: str, *, smear_s: int, now_ms: int) -> int:
    """Say in how many seconds a device should upload again; 0 is no wish.

    Windows of ``smear_s`` seconds follow each other from 1970 on. A device has one slot in each,
    by a hash of its id: always the same, and evenly spread over a fleet. The answer leads to the
    first slot that is at least half a window away, so that one who comes a little early is not
    told to come back at once.
    """
    if smear_s < 1:
        return 0
    earliest_s = now_ms // 1000 + (smear_s + 1) // 2
    wait_s = (slot_s(device_id, smear_s=smear_s) - earliest_s) % smear_s
    return (smear_s + 1) // 2 + wait_s


def slot_s(device_id: str, *, smear_s: int) -> int:
    """The second of each window that is the device's: 0 to ``smear_s`` - 1."""
    digest = hashlib.blake2b(device_id.encode(), digest_size=_DIGEST_BYTES).digest()
    return int.from_bytes(digest, "big") % smear_s
