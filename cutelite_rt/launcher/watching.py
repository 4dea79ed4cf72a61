"""A counter of changes of dicts: it changes whenever a watched dict does.

In    dicts: what kernels look their globals up in
Out   `CHANGES`, where launchers read the number

Looking all names up takes a launch 10 ns each; where the number is what it was, nothing was bound anew. It is raised by
a few instructions that CPython calls ahead of each change (`PyDict_AddWatcher`, since 3.12).
"""

from __future__ import annotations

import ctypes
import functools
import struct
from collections.abc import Iterable
from typing import Any

from cutelite_rt.arrays.dlpack import api
from cutelite_rt.launcher import native

CHANGES = ctypes.c_uint64(1)
"""How often a watched dict changed, and one more."""


def watch(dicts: Iterable[dict[str, Any]]) -> bool:
    """Count changes of these from now on, for good. False where that cannot be: this Python, or others, have taken
    all the watchers that there are."""
    number = _watcher()
    if number is None:
        return False
    for each in dicts:
        api("PyDict_Watch", ctypes.c_int, ctypes.c_int, ctypes.py_object)(number, each)
    return True


@functools.cache
def _watcher() -> int | None:
    """The number under which CPython has our watcher."""
    if not hasattr(ctypes.pythonapi, "PyDict_AddWatcher") or native.unsupported() is not None:
        return None
    code = native.executable(_counting(ctypes.addressof(CHANGES)))
    api("Py_IncRef", None, ctypes.py_object)(CHANGES)  # clearing modules at exit changes watched dicts too
    try:
        return int(api("PyDict_AddWatcher", ctypes.c_int, ctypes.c_void_p)(code))
    except RuntimeError:  # there are eight, for all that is in the process
        return None


def _counting(address: int) -> bytes:
    """``int watcher(event, dict, key, value)`` that adds 1 to the 64 bits at `address`, and returns 0."""
    if native.MACHINE == "aarch64":  # ldr x8, address; ldr x9, [x8]; add x9, x9, #1; str x9, [x8]; mov w0, #0; ret
        words = 0x580000C8, 0xF9400109, 0x91000529, 0xF9000109, 0x52800000, 0xD65F03C0
        return struct.pack("<6IQ", *words, address)
    # movabs rax, address; inc qword ptr [rax]; xor eax, eax; ret
    return b"\x48\xb8" + struct.pack("<Q", address) + b"\x48\xff\x00" + b"\x31\xc0" + b"\xc3"
