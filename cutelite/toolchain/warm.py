"""llvmlite's library, loaded in a thread while this one imports the compiler. This saves 16 ms of the first compile."""

from __future__ import annotations

import ctypes
import importlib.util
import os
import sys
from _thread import LockType, allocate_lock, start_new_thread  # a `Thread` has its caller wait until it runs: 0.3 ms

_NOW = 2  # RTLD_NOW: as Python loads libraries

_loading: LockType | None = None  # held by the thread that loads


def begin() -> None:
    """Start loading the library, once in a process, unless it is loaded already or the platform has no `dlopen`."""
    global _loading
    if _loading is None and os.name == "posix" and "llvmlite.binding" not in sys.modules:
        _loading = allocate_lock()
        _loading.acquire()
        start_new_thread(_load, (_loading,))


def wait() -> None:
    """Wait until the library is loaded."""
    if _loading is not None:
        with _loading:
            pass


def _load(loading: LockType) -> None:
    try:
        _loaded()
    finally:
        loading.release()


def _loaded() -> None:
    """Call `dlopen` as a foreign function, so that other threads can run Python; `ctypes.CDLL` would block them.

    So is the call by which LLVM registers the most, in 1 ms; each further one would wait for Python, up to 5 ms. An
    error is ignored here: it occurs again where the library is used, and is reported there.
    """
    file = path()
    if file is not None and ctypes.CDLL(None).dlopen(file.encode(), _NOW):
        register = getattr(ctypes.CDLL(file), "LLVMPY_InitializeAllTargets", None)
        if register is not None:
            register()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(before=wait)  # a child would inherit LLVM's locks, held by a thread that it does not have


def path() -> str | None:
    """Return the path of the library; None if llvmlite is not installed."""
    found = importlib.util.find_spec("llvmlite")
    if found is None or not found.submodule_search_locations:
        return None
    name = {"win32": "llvmlite.dll", "darwin": "libllvmlite.dylib"}.get(sys.platform, "libllvmlite.so")
    return os.path.join(found.submodule_search_locations[0], "binding", name)
