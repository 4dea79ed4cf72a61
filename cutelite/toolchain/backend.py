"""LLVM IR -> PTX, by either backend."""

from __future__ import annotations

from cutelite.target import Target
from cutelite.toolchain import llvm, nvvm
from cutelite.toolchain.mended import mended

BACKENDS = {"llvm": llvm.to_ptx, "nvvm": nvvm.to_ptx}


def to_ptx(llvm_text: str, target: Target, *, opt_level: int = 3, backend: str = "llvm") -> str:
    """PTX for `target` from LLVM IR text, whose kernels are `define ptx_kernel void`.

    opt_level  0 to 3; 0 and 1 leave the text much as it is
    backend    `llvm`, which comes with llvmlite, or `nvvm`, NVIDIA's libNVVM
    Threads    any number at once; LLVM itself runs one at a time (llvmlite holds a lock around each call)
    Errors     `ToolchainError` for text that does not parse or breaks LLVM's rules, or for a missing backend
    """
    return mended(BACKENDS[backend](llvm_text, target, opt_level=opt_level))
