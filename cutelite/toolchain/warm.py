"""llvmlite's library, loaded in a thread while this one imports the compiler: 15 ms of the first compile."""

from __future__ import annotations

import ctypes
import importlib.util
import os
import sys
import threading

_NOW = 2  # RTLD_NOW: as Python loads libraries

_loading: threading.Thread | None = None


def begin() -> None:
    """Start to load the library, once a process, where there is one to load and it is not there yet."""
    global _loading
    if _loading is None and os.name == "posix" and "llvmlite.binding" not in sys.modules:
        _loading = threading.Thread(target=_load, name="cutelite-llvm", daemon=True)
        _loading.start()


def wait() -> None:
    """Wait until it is loaded."""
    if _loading is not None:
        _loading.join()


def _load() -> None:
    """Call `dlopen` as a foreign function, which leaves Python to the other threads; `ctypes.CDLL` would not.

    Whatever goes wrong here goes wrong again where the library is wanted, and is told there.
    """
    file = path()
    if file is not None:
        ctypes.CDLL(None).dlopen(file.encode(), _NOW)


def path() -> str | None:
    """Return the path of the library; None where llvmlite is not installed."""
    found = importlib.util.find_spec("llvmlite")
    if found is None or not found.submodule_search_locations:
        return None
    name = {"win32": "llvmlite.dll", "darwin": "libllvmlite.dylib"}.get(sys.platform, "libllvmlite.so")
    return os.path.join(found.submodule_search_locations[0], "binding", name)
