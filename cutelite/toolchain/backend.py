"""LLVM IR -> PTX, by either backend."""

from __future__ import annotations

import importlib
from collections.abc import Sequence
from typing import Any

from cutelite.target import Target
from cutelite.toolchain import ptxas_bugs
from cutelite.toolchain.places import with_places


def to_ptx(llvm_text: str, target: Target, *, opt_level: int = 3, backend: str = "llvm") -> str:
    """Return PTX that any ptxas computes rightly; arguments and errors as `write_ptx`."""
    return ptxas_bugs.avoid(write_ptx(llvm_text, target, opt_level=opt_level, backend=backend))


def write_ptx(
    llvm_text: str, target: Target, *, opt_level: int = 3, backend: str = "llvm", bitcode: Sequence[str] = ()
) -> str:
    """Return PTX for `target` as the backend writes it, to be rewritten for an assembler (`ptxas_bugs.avoid`).

    llvm_text  LLVM IR, whose kernels are `define ptx_kernel void`
    opt_level  0 to 3; 0 and 1 leave the text much as it is. With variables in the text (`lower/variables.py`) nothing
               is optimised
    backend    `llvm`, which comes with llvmlite, or `nvvm`, NVIDIA's libNVVM
    bitcode    files of LLVM bitcode to link, by `llvm` alone
    Threads    any number at once; LLVM itself runs one at a time (llvmlite holds a lock around each call)
    Errors     `ToolchainError` for text that does not parse or breaks LLVM's rules, or for a missing backend
    """
    more = {"bitcode": bitcode} if bitcode else {}
    return with_places(_module(backend).to_ptx(llvm_text, target, opt_level=opt_level, **more), llvm_text)


def _module(backend: str) -> Any:
    """Return the module `llvm.py` or `nvvm.py`; most processes need one of them."""
    return importlib.import_module(f"cutelite.toolchain.{backend}")


def check_backend(backend: str) -> None:
    """Check that the backend is there. Errors: `ToolchainError`."""
    if backend == "nvvm":
        _module(backend).check()
    else:
        _module(backend).version()
