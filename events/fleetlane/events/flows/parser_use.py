"""How a flow names a parser: a built-in format's name alone, or ``name==version``."""

from packaging.version import InvalidVersion, Version


def split_use(use: str) -> tuple[str, str | None]:
    """The parser's name, and its version where one is pinned."""
    name, pinned, version = (part.strip() for part in use.partition("=="))
    return name, version if pinned else None


def is_same_version(one: str, other: str) -> bool:
    """Whether two versions are equal by PEP 440; what is no version equals nothing."""
    try:
        return Version(one) == Version(other)
    except InvalidVersion:
        return False
