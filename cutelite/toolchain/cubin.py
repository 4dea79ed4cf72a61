"""The artefact of this room: machine code, and what the assembler said of it."""

from __future__ import annotations

from dataclasses import dataclass

from cutelite.toolchain.log import ToolWarning, Usage


@dataclass(frozen=True, slots=True)
class Cubin:
    """Machine code for one architecture.

    image     the ELF file, as `cuModuleLoadData` takes it
    usage     registers, spills and shared memory, the most over its kernels
    warnings  what the assembler warned of, spills and serialised wgmma included
    log       all it said
    tool      the assembler: the path of a ptxas, `nvJitLink` or `driver`
    """

    image: bytes
    arch: str
    usage: Usage
    warnings: tuple[ToolWarning, ...]
    log: str
    tool: str
