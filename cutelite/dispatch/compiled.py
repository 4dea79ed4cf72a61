"""A kernel compiled for one specialisation and one architecture, with every stage to look at."""

from __future__ import annotations

from collections.abc import Callable
from functools import cached_property
from typing import TYPE_CHECKING, Any

from cutelite_rt import Artifact

if TYPE_CHECKING:
    from cutelite.ir.function import Function
    from cutelite.pipeline import Build


class Compiled:
    """What `kernel.compile(...)` returns. Stages that the disk cache does not hold are made again when asked for.

    artifact  what is launched: cubin, parameters, shared memory, ...
    times     seconds by stage; empty where it came from the cache
    cached    whether it came from the disk cache
    """

    def __init__(self, artifact: Artifact, again: Callable[[], Build], build: Build | None = None) -> None:
        self.artifact = artifact
        self.cached = build is None
        self._again = again
        if build is not None:
            self.__dict__["build"] = build

    @cached_property
    def build(self) -> Build:
        """Every stage's artefact, compiled anew if this came from the cache."""
        return self._again()

    @property
    def times(self) -> dict[str, float]:
        return {} if self.cached else dict(self.build.times)

    @property
    def name(self) -> str:
        return self.artifact.name

    @property
    def arch(self) -> str:
        return self.artifact.arch

    @property
    def function(self) -> Function:
        """The IR as the frontend made it."""
        return self.build.front

    @property
    def ir(self) -> str:
        """The IR as the frontend made it, as text; `build.stages` has it after every pass."""
        return str(self.build.front)

    @property
    def llvm(self) -> str:
        return self.build.llvm

    @property
    def ptx(self) -> str:
        return self.artifact.ptx or self.build.ptx

    @property
    def cubin(self) -> bytes:
        return self.artifact.cubin

    @cached_property
    def sass(self) -> str | None:
        """The machine code as text; None where no disassembler is found (`cutelite doctor`)."""
        from cutelite.toolchain import disassemble

        return disassemble(self.cubin)

    @property
    def registers(self) -> int:
        """Registers per thread."""
        return self.artifact.registers

    @property
    def spills(self) -> int:
        """Bytes per thread that did not fit into registers."""
        return self.artifact.spills

    @property
    def shared_memory(self) -> int:
        """Bytes per block that the kernel declares; `Launch.smem` comes on top."""
        return self.artifact.static_smem + self.artifact.dynamic_smem

    @property
    def warnings(self) -> list[Any]:
        """What the compiler and the assembler warn of: register tensors in local memory, spills, serialised wgmma."""
        return list(self.artifact.signature.get("warnings", ())) if self.artifact.signature else []

    def __repr__(self) -> str:
        a = self.artifact
        return f"<{a.name} for {a.arch}: {a.registers} registers, {self.shared_memory} bytes of shared memory>"
