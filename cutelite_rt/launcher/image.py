"""The launcher's code: its IR, its digest, and the addresses of its machine code in this process.

Machine code from a file (`export.bundle`) reads the tables and structures that this runtime writes, so both have to
come from the same `launcher.c`. Its IR is committed beside it, and the digest of that goes with the machine code.
"""

from __future__ import annotations

import os
import struct
from functools import cache
from typing import NamedTuple

from cutelite_rt.launcher import native

REVISION = 3
"""The version of tables and structures: raise it where the same code would read them differently."""


def launcher_ir() -> str:
    """The IR of the launcher."""
    with open(os.path.join(os.path.dirname(__file__), "launcher.ll"), encoding="ascii") as file:
        return file.read()


@cache
def digest() -> str:
    """Identify the launcher that this runtime writes tables for."""
    import hashlib

    return hashlib.sha256(f"{REVISION}\n{launcher_ir()}".encode()).hexdigest()[:32]


class Machine(NamedTuple):
    """Addresses of the launcher's functions in this process."""

    launch: int
    subscript: int

    @classmethod
    def of(cls, image: bytes) -> Machine:
        """Functions of an image (`cutelite.toolchain.host`); equal images are loaded once. Errors: OSError."""
        address = native.executable(image)
        return cls(*(address + at for at in IMAGE.unpack_from(image)))


IMAGE = struct.Struct("<2Q 48x")
"""Ahead of an image's code: where its functions begin, in a line of the CPU's caches."""
