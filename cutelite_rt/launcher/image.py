"""The launcher's code: its IR, its digest, and the addresses of its machine code in this process.

Machine code from a file (`export.bundle`) reads the tables and structures that this runtime writes, so both must come
from the same `launcher.c`. A digest of its IR, `launcher.ll`, is stored with the machine code.
"""

from __future__ import annotations

import os
import struct
from functools import cache
from typing import NamedTuple

from cutelite_rt.launcher import native

REVISION = 3
"""The version of tables and structures. Raise it when they change and the launcher's code does not."""


def launcher_ir() -> str:
    """Return the IR of the launcher."""
    with open(os.path.join(os.path.dirname(__file__), "launcher.ll"), encoding="ascii") as file:
        return file.read()


@cache
def digest() -> str:
    """Return a digest of the launcher that this runtime writes tables for."""
    import hashlib

    return hashlib.sha256(f"{REVISION}\n{launcher_ir()}".encode()).hexdigest()[:32]


class Machine(NamedTuple):
    """Addresses of the launcher's functions in this process."""

    launch: int
    subscript: int

    @classmethod
    def of(cls, image: bytes) -> Machine:
        """Load an image (`cutelite.toolchain.host`), equal ones once, and return its functions. Errors: OSError."""
        address = native.executable(image)
        return cls(*(address + at for at in IMAGE.unpack_from(image)))


IMAGE = struct.Struct("<2Q 48x")
"""The head of an image: the offsets of its functions, padded to a line of the CPU's caches."""
