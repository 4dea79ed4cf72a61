"""The launcher's code: its IR, its digest, and the addresses of its machine code in this process.

Machine code from a file (`export.bundle`) reads the tables and structures that this runtime writes, so both must come
from the same `launcher.c`. A digest of its IR, `launcher.ll`, is stored with the machine code.

The IR is the same for all Pythons. What it has to know of one, where objects have their content and whether there is an
interpreter lock, are functions that it calls; `launcher_ir` adds their definitions, and LLVM makes constants of them.
"""

from __future__ import annotations

import os
import struct
from functools import cache
from typing import NamedTuple

from cutelite_rt.launcher import native

REVISION = 3
"""The version of tables and structures. Raise it when they change and the launcher's code does not."""


class Interpreter(NamedTuple):
    """The facts of a Python that machine code has as constants.

    object_head  bytes of an object before its content
    has_lock     whether one thread at a time is in the interpreter
    """

    object_head: int
    has_lock: bool


INTERPRETERS = {"": Interpreter(16, True), "t": Interpreter(32, False)}
"""The facts of CPython, by the end of a CPU's name: 't' for a free-threaded one, as in `sys.abiflags` (PEP 703)."""

HERE = f"{native.MACHINE}{'t' if native.FREE_THREADED else ''}"
"""The CPU of this process, as `kernel.export` names it."""

CONSTANTS = {"object_head": "i64", "has_lock": "i32"}
"""The functions that tell the facts to the IR, in the order of `Interpreter`, and their types."""


def launcher_ir(interpreter: Interpreter | None = None) -> str:
    """Return the IR of the launcher for an interpreter; default: this one."""
    told = interpreter or Interpreter(native.HEAD, not native.FREE_THREADED)
    constants = (f"\ndefine internal {kind} @{name}() alwaysinline {{ ret {kind} {int(value)} }}\n"
                 for (name, kind), value in zip(CONSTANTS.items(), told, strict=True))  # fmt: skip
    return _file() + "".join(constants)


@cache
def _file() -> str:
    with open(os.path.join(os.path.dirname(__file__), "launcher.ll"), encoding="ascii") as file:
        return file.read()


@cache
def digest() -> str:
    """Return a digest of the launcher that this runtime writes tables for."""
    import hashlib

    return hashlib.sha256(f"{REVISION}\n{_file()}".encode()).hexdigest()[:32]


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
