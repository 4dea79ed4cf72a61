"""LLVM IR text to PTX to cubin, with whichever of NVIDIA's tools are there. Knows no ops.

to_ptx       LLVM IR -> PTX, by LLVM's own NVPTX backend        llvm.py
to_cubin     PTX -> cubin, by ptxas, nvJitLink or the driver    assemble.py
disassemble  cubin -> SASS, if a disassembler is found          sass.py
tools        what is there, for `cutelite doctor`               tools.py
"""

from cutelite.toolchain.assemble import to_cubin
from cutelite.toolchain.backend import to_ptx
from cutelite.toolchain.cubin import Cubin
from cutelite.toolchain.errors import ToolchainError
from cutelite.toolchain.log import ToolWarning
from cutelite.toolchain.sass import disassemble
from cutelite.toolchain.tools import Tool, tools

__all__ = ["Cubin", "Tool", "ToolWarning", "ToolchainError", "disassemble", "to_cubin", "to_ptx", "tools"]
