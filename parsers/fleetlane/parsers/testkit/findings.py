"""A check's finding: a sentence, and the message that shows it, kept in a file."""

import hashlib
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Final

FAILURES: Final = "failures"

_HEX_SHOWN_BYTES: Final = 16


@dataclass(frozen=True, slots=True, kw_only=True)
class Finding:
    """``check`` is the part of the contract that is broken, ``body`` the message that breaks it."""

    check: str
    sentence: str
    body: bytes | None = None

    def __str__(self) -> str:
        return f"{self.check}: {self.sentence}"


def kept(findings: Iterable[Finding], folder: Path) -> Iterator[str]:
    """Each finding's sentence, once its message's hex is in a file below ``folder``."""
    for finding in findings:
        if finding.body is None:
            yield str(finding)
            continue
        digest = hashlib.sha256(finding.body).hexdigest()[:8]
        path = folder / FAILURES / f"{finding.check.replace(' ', '-')}-{digest}.hex"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(f"{finding.body.hex()}\n", encoding="ascii")
        yield f"{finding}\n    the message: {path}"


def shown(body: bytes) -> str:
    """A message in a sentence: its size, and how it begins."""
    beginning = body[:_HEX_SHOWN_BYTES].hex()
    more = "…" if len(body) > _HEX_SHOWN_BYTES else ""
    return f"{len(body)} bytes ({beginning}{more})" if body else "0 bytes"
