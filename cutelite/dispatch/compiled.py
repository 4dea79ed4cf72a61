"""A kernel compiled for one specialisation and one architecture, with every stage to look at."""

from __future__ import annotations

from collections.abc import Callable
from functools import cached_property
from typing import TYPE_CHECKING

from cutelite import toolchain
from cutelite_rt import Artifact

if TYPE_CHECKING:
    from cutelite.builds.build import Build
    from cutelite.ir.function import Function


class Compiled:
    """The result of `kernel.compile(...)`. Stages that the disk cache does not hold are made again when asked for.

    artifact  what is launched: cubin, parameters, shared memory, ...
    cached    whether it came from the disk cache
    """

    def __init__(self, artifact: Artifact, again: Callable[[], Build]) -> None:
        self.artifact = artifact
        self.cached = True
        self._again = again

    @classmethod
    def of(cls, build: Build) -> Compiled:
        """Return what has been compiled just now."""
        assert build.artifact is not None, "the last stage makes it"
        compiled = cls(build.artifact, lambda: build)
        compiled.cached = False
        return compiled

    @cached_property
    def build(self) -> Build:
        """Every stage's artefact, compiled anew if this came from the cache."""
        return self._again()

    @property
    def times(self) -> dict[str, float]:
        """Seconds by stage; empty where it came from the cache."""
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
        """The IR as the frontend made it, as text; `stage("cir")` has it after each pass too."""
        return str(self.build.front)

    @property
    def llvm(self) -> str:
        return self.build.llvm

    @property
    def ptx(self) -> str:
        """PTX that any ptxas computes rightly: without what some of their versions get wrong."""
        return self.artifact.ptx or self.build.portable_ptx

    @property
    def cubin(self) -> bytes:
        """The machine code. Errors: `ToolchainError` where there was no assembler to make it."""
        if not self.artifact.cubin:
            message = f"{self.name} is compiled to PTX only: there was no assembler (see `cutelite doctor`)"
            raise toolchain.ToolchainError("find", message)
        return self.artifact.cubin

    @cached_property
    def sass(self) -> str | None:
        """The machine code as text; None where no disassembler is found (`cutelite doctor`)."""
        return toolchain.disassemble(self.cubin)

    def stage(self, name: str) -> dict[str, str | bytes]:
        """A stage as files: `name` is one of 'bytecode', 'cfg', 'cir', 'll', 'ptx', 'cubin', 'sass'.

        Their names end as the stage is called; 'cir' has one for each pass. Empty for 'sass' without a disassembler.
        """
        from cutelite.builds import dumps

        if name == "ptx":
            return {"ptx": self.ptx}
        if name == "cubin":
            return {"cubin": self.cubin}
        return dumps.files(self.build, name)

    @property
    def registers(self) -> int:
        """Registers per thread; -1 where there was no assembler to count them."""
        return self.artifact.registers

    @property
    def spills(self) -> int:
        """Bytes per thread that are stored and loaded because registers ran out; -1 where it is not known."""
        return self.artifact.spills

    @property
    def shared_memory(self) -> int:
        """Bytes per block that the kernel declares; `Launch.smem` comes on top."""
        return self.artifact.static_smem + self.artifact.dynamic_smem

    @property
    def warnings(self) -> list[str]:
        """Return warnings of compiler and assembler: register tensors in local memory, spills, serialised wgmma."""
        signature = self.artifact.signature or {}
        return [str(text) for text in signature.get("warnings", ())]

    def __repr__(self) -> str:
        registers = f"{self.registers} registers" if self.registers >= 0 else "PTX alone"
        return f"<{self.name} for {self.arch}: {registers}, {self.shared_memory} bytes of shared memory>"
