"""The artefact of this room: machine code, and what the assembler said of it."""

from __future__ import annotations

import re
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

    @property
    def cuda_version(self) -> tuple[int, int]:
        """The release of the assembler, (13, 0), from a note in the image; (0, 0) where there is none."""
        found = re.search(rb"Cuda compilation tools, release (\d+)\.(\d+)", self.image)
        return (int(found[1]), int(found[2])) if found else (0, 0)
