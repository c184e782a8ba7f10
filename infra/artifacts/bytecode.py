"""Bytecode beside each module, so that a cold start does not compile what it imports."""

import importlib.util
import marshal
import sys
import warnings
from collections.abc import Iterator, Mapping
from functools import cache
from pathlib import PurePosixPath
from typing import Final

type Contents = Mapping[str, bytes]

_UNCHECKED_HASH: Final = (1).to_bytes(4, "little")
"""PEP 552: valid whatever its source is, whose size and time are not even read."""

_WITHOUT_REFERENCES: Final = 2
"""Later marshal formats write repeated objects as references, by their reference counts: the bytes
depend on what else this process has loaded."""


def with_bytecode(contents: Contents) -> Contents:
    """Contents, and the bytecode of their modules where Python looks for it.

    It is that of the Python that runs this. One of another minor version looks for other names,
    and compiles as before.
    """
    return {**contents, **dict(_bytecode_files(contents))}


def _bytecode_files(contents: Contents) -> Iterator[tuple[str, bytes]]:
    for name, source in contents.items():
        path = PurePosixPath(name)
        if path.suffix == ".py" and (bytecode := _bytecode(name, source)) is not None:
            cached = f"{path.stem}.{sys.implementation.cache_tag}.pyc"
            yield (path.parent / "__pycache__" / cached).as_posix(), bytecode


@cache
def _bytecode(name: str, source: bytes) -> bytes | None:
    """The bytecode of a file, or none if it is no module of this Python.

    Most packages are those of all functions.
    """
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of an escape in a package of others, say
        try:
            code = compile(source, name, "exec", dont_inherit=True, optimize=0)
        except SyntaxError:
            return None
    head = importlib.util.MAGIC_NUMBER + _UNCHECKED_HASH + importlib.util.source_hash(source)
    return head + marshal.dumps(code, _WITHOUT_REFERENCES)
