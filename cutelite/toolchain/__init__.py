"""LLVM IR text to PTX to cubin, with whichever of NVIDIA's tools are there. Knows no ops.

to_ptx       LLVM IR -> PTX, by LLVM's own NVPTX backend or libNVVM   backend.py
write_ptx    the same, before the bugs of assemblers are avoided      backend.py
for_ptxas    PTX without what the assembler at hand gets wrong        assemble.py, ptxas_bugs/
to_cubin     PTX -> cubin, by ptxas, nvJitLink or the driver          assemble.py
crossed      PTX + cubin -> what ptxas moved across fences            order.py
disassemble  cubin -> `cutelite.sass`, if a disassembler is found     sass.py
tools        what is there, for `cutelite doctor`                     tools.py
identity     which of it makes a cubin, for the cache                 identity.py

A backend is `llvm` (over `libllvm`, kept `undisturbed`, loaded ahead by `warm`) or `nvvm` (over `nvvm7`). Assembling
uses `find`, `bindings`, `running` and `nvjitlink`, and reads the `log`. `places` makes source lines of numbers, `host`
machine code of a CPU; `errors` has the room's exception.

The names are imported when first used: a kernel from the cache needs the identity alone, and not what it costs to run
programs.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from cutelite.toolchain.assemble import first_there, for_ptxas, to_cubin, version_of
    from cutelite.toolchain.backend import check_backend, to_ptx, write_ptx
    from cutelite.toolchain.cubin import Cubin
    from cutelite.toolchain.errors import ToolchainError
    from cutelite.toolchain.log import ToolWarning
    from cutelite.toolchain.order import crossed
    from cutelite.toolchain.sass import disassemble, live_registers

_HOME = {
    "Cubin": "cubin",
    "ToolWarning": "log",
    "ToolchainError": "errors",
    "check_backend": "backend",
    "crossed": "order",
    "disassemble": "sass",
    "first_there": "assemble",
    "for_ptxas": "assemble",
    "live_registers": "sass",
    "to_cubin": "assemble",
    "to_ptx": "backend",
    "version_of": "assemble",
    "write_ptx": "backend",
}

__all__ = [
    "Cubin",
    "ToolWarning",
    "ToolchainError",
    "check_backend",
    "crossed",
    "disassemble",
    "first_there",
    "for_ptxas",
    "live_registers",
    "to_cubin",
    "to_ptx",
    "version_of",
    "write_ptx",
]


def __getattr__(name: str) -> Any:
    if name not in _HOME:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    value = getattr(importlib.import_module(f"{__name__}.{_HOME[name]}"), name)
    globals()[name] = value
    return value
