"""LLVM IR text to PTX to cubin, with those of NVIDIA's tools that are installed. No op is known here.

to_ptx       LLVM IR -> PTX, by LLVM's own NVPTX backend or libNVVM             backend.py
write_ptx    the same, before the PTX is rewritten to avoid assemblers' bugs    backend.py
for_ptxas    PTX rewritten to avoid the bugs of the assembler in use            assemble.py, ptxas_bugs/
to_cubin     PTX -> cubin, by ptxas, nvJitLink or the driver                    assemble.py
early        ptxas, started while its PTX is still being made                   assemble.py, waiting.py
crossed      PTX + cubin -> the arithmetic that ptxas moved across fences       order.py
disassemble  cubin -> `cutelite.sass`, if a disassembler is found               sass.py
tools        the tools that are found, for `cutelite doctor`                    tools.py
identity     the tools that make a cubin, as a text for the cache's key         identity.py

A backend is `llvm` (it uses `libllvm`, guarded by `undisturbed`, loaded early by `warm`) or `nvvm` (it uses `nvvm7`).
Assembling uses `find`, `bindings`, `running` and `nvjitlink`, and reads the `log`. `places` turns numbers in the PTX
into source lines, `host` writes machine code of a CPU; `errors` has the room's exception.

The names are imported when first used: a kernel from the cache needs only the identity, and does not wait for the
import of all that runs the tools.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from cutelite.toolchain.assemble import early, first_there, for_ptxas, to_cubin, version_of
    from cutelite.toolchain.backend import check_backend, to_ptx, write_ptx
    from cutelite.toolchain.cubin import Cubin
    from cutelite.toolchain.errors import ToolchainError
    from cutelite.toolchain.log import ToolWarning
    from cutelite.toolchain.order import crossed
    from cutelite.toolchain.sass import disassemble, live_registers

_WHERE = {
    "assemble": "early first_there for_ptxas to_cubin version_of",
    "backend": "check_backend to_ptx write_ptx",
    "cubin": "Cubin",
    "errors": "ToolchainError",
    "log": "ToolWarning",
    "order": "crossed",
    "sass": "disassemble live_registers",
}
_HOME = {name: module for module, names in _WHERE.items() for name in names.split()}

__all__ = [
    "Cubin", "ToolWarning", "ToolchainError", "check_backend", "crossed", "disassemble", "early", "first_there",
    "for_ptxas", "live_registers", "to_cubin", "to_ptx", "version_of", "write_ptx",
]  # fmt: skip


def __getattr__(name: str) -> Any:
    if name not in _HOME:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    value = getattr(importlib.import_module(f"{__name__}.{_HOME[name]}"), name)
    globals()[name] = value
    return value
