"""The launcher's IR, and what identifies it: code in files runs only where the runtime has the same.

An image of machine code that comes from elsewhere (`cutelite_rt.bundle`) reads the tables and structures that this
runtime writes. Both sides are of one `launcher.c`, whose IR is committed beside it; its digest goes with the image.
"""

from __future__ import annotations

import hashlib
import os
from functools import cache

REVISION = 3
"""Raise it where tables or structures come to mean something else to the same code."""


def launcher_ir() -> str:
    """The IR of the launcher."""
    with open(os.path.join(os.path.dirname(__file__), "c", "launcher.ll"), encoding="ascii") as file:
        return file.read()


@cache
def digest() -> str:
    """Of the launcher that this runtime writes tables for."""
    return hashlib.sha256(f"{REVISION}\n{launcher_ir()}".encode()).hexdigest()[:32]
