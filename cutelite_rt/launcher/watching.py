"""A counter that is raised whenever a watched dict changes.

In    dicts: the namespaces of kernels' globals
Out   `CHANGES`, the counter, which launchers read

A launch would need 10 ns to look up each name. While the counter is unchanged, no global was bound anew. A few machine
instructions raise it, which CPython calls before each change of a dict (`PyDict_AddWatcher`, since 3.12).
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
"""The number of changes of watched dicts, plus 1."""


def watch(dicts: Iterable[dict[str, Any]]) -> bool:
    """Count changes of these dicts from now on. Return False where that is not possible: in a Python before 3.12, or if
    other code has taken all of its watchers."""
    number = watcher()
    if number is None:
        return False
    for each in () if native.FREE_THREADED else dicts:  # else launchers do it, which lock the dict (`looked_up`)
        api("PyDict_Watch", ctypes.c_int, ctypes.c_int, ctypes.py_object)(number, each)
    return True


@functools.cache
def watcher() -> int | None:
    """Return CPython's number of our watcher; None without one."""
    if not hasattr(ctypes.pythonapi, "PyDict_AddWatcher") or native.unsupported() is not None:
        return None
    code = native.executable(_counting(ctypes.addressof(CHANGES)))
    api("Py_IncRef", None, ctypes.py_object)(CHANGES)  # clearing modules at exit changes watched dicts too
    try:
        return int(api("PyDict_AddWatcher", ctypes.c_int, ctypes.c_void_p)(code))
    except RuntimeError:  # a process has eight watchers
        return None


def _counting(address: int) -> bytes:
    """Return the code of ``int watcher(event, dict, key, value)``: add 1 to the 64 bits at `address`, return 0."""
    if native.MACHINE == "aarch64":  # ldr x8, address; ldr x9, [x8]; add x9, x9, #1; str x9, [x8]; mov w0, #0; ret
        words = [0x580000C8, 0xF9400109, 0x91000529, 0xF9000109, 0x52800000, 0xD65F03C0]
        if native.FREE_THREADED:  # ldr x8, address; ldaxr x9, [x8]; add x9, x9, #1; stlxr w10, x9, [x8]; cbnz w10, back
            words = [0x58000108, 0xC85FFD09, 0x91000529, 0xC80AFD09, 0x35FFFFAA, 0x52800000, 0xD65F03C0, 0xD503201F]
        return struct.pack(f"<{len(words)}IQ", *words, address)
    # movabs rax, address; lock inc qword ptr [rax]; xor eax, eax; ret
    lock = b"\xf0" if native.FREE_THREADED else b""
    return b"\x48\xb8" + struct.pack("<Q", address) + lock + b"\x48\xff\x00" + b"\x31\xc0" + b"\xc3"
