"""LLVM IR -> PTX, by one of two backends."""

from __future__ import annotations

import importlib
from collections.abc import Sequence
from typing import Any

from cutelite.target import Target
from cutelite.toolchain import ptxas_bugs
from cutelite.toolchain.places import with_places


def to_ptx(llvm_text: str, target: Target, *, opt_level: int = 3, backend: str = "llvm") -> str:
    """Return PTX without known bugs of any ptxas; arguments and errors as for `write_ptx`."""
    return ptxas_bugs.avoid(write_ptx(llvm_text, target, opt_level=opt_level, backend=backend))


def write_ptx(
    llvm_text: str, target: Target, *, opt_level: int = 3, backend: str = "llvm", bitcode: Sequence[str] = ()
) -> str:
    """Return PTX for `target` as the backend writes it; `ptxas_bugs.avoid` then rewrites it for an assembler.

    llvm_text  LLVM IR, whose kernels are `define ptx_kernel void`
    opt_level  0 to 3; 0 and 1 change the text little. A text with variables (`lower/variables.py`) is never optimised
    backend    `llvm`, which comes with llvmlite, or `nvvm`, NVIDIA's libNVVM
    bitcode    files of LLVM bitcode to link; only for `llvm`
    Threads    any number at once; LLVM itself runs one at a time (llvmlite holds a lock around each call)
    Errors     `ToolchainError` for text that does not parse or breaks LLVM's rules, or for a missing backend
    """
    more = {"bitcode": bitcode} if bitcode else {}
    return with_places(_module(backend).to_ptx(llvm_text, target, opt_level=opt_level, **more), llvm_text)


def _module(backend: str) -> Any:
    """Import and return the module `llvm.py` or `nvvm.py`; most processes need only one of them."""
    return importlib.import_module(f"cutelite.toolchain.{backend}")


def check_backend(backend: str) -> None:
    """Check that the backend is installed. Errors: `ToolchainError`."""
    if backend == "nvvm":
        _module(backend).check()
    else:
        _module(backend).version()
