"""The packages that call the tools, each imported when first needed: that takes 20 to 60 ms.

A kernel from the disk cache needs none of them, and most machines need only some.
"""

from __future__ import annotations

import importlib
from typing import Any


def llvmlite() -> Any:
    """Return llvmlite without its bindings, for its version: 1 ms instead of 40. Errors: ImportError."""
    return importlib.import_module("llvmlite")


def cuda(name: str) -> Any:
    """Return NVIDIA's binding of a library: `driver`, `nvjitlink`, `nvvm`. Errors: ImportError.

    cuda-bindings 12 looks for a driver before it loads a library, and raises RuntimeError without one.
    """
    return importlib.import_module(f".{name}", "cuda.bindings")


def pathfinder() -> Any | None:
    """Return cuda.pathfinder, which finds NVIDIA's programs and libraries; None if it is not installed."""
    try:
        return importlib.import_module("cuda.pathfinder")
    except ImportError:
        return None
