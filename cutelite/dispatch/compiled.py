"""A kernel compiled for one specialisation and one architecture, and the artefacts of each compiler stage."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from functools import cached_property
from typing import TYPE_CHECKING, Any

import cutelite_rt as rt
from cutelite import toolchain
from cutelite.config import STAGES, Config
from cutelite.dispatch.launch import Extent, Launch, LaunchError, check_shape, extents
from cutelite.dispatch.mistakes import without_our_frames
from cutelite.target import Occupancy, Target
from cutelite_rt import Artifact

if TYPE_CHECKING:
    from cutelite.builds.build import Build
    from cutelite.explore import Exploration
    from cutelite.ir.function import Function
    from cutelite.sass import Sass
    from cutelite.sim import CheckReport, Timeline


class Compiled:
    """The result of `kernel.compile(...)`. Stages that the disk cache does not hold are compiled again when asked for.

    ``compiled[grid, block](*args)`` launches it, and no other specialisation: arguments that need another are refused.
    The block may be left out. Another process that gets it by pickle launches it without compiling it.

    artifact  everything that a launch needs: cubin, parameters, size of shared memory, ...
    cached    whether it came from the disk cache
    """

    def __init__(self, artifact: Artifact, again: Callable[[], Build]) -> None:
        self.artifact = artifact
        self.cached = True
        self.origin: tuple[Any, Any] | None = None  # a `Kernel` or `BoundKernel`, and the `Specialisation`
        self._again = again

    @cached_property
    def _kernel(self) -> Any:
        """A kernel that launches only this specialisation."""
        if self.origin is None:
            raise LaunchError(f"{self.name} was compiled without its kernel: launch what `kernel.compile(...)` returns")
        kernel, spec = self.origin
        return kernel.launching_only(spec, self)

    def __reduce__(self) -> tuple[Any, ...]:
        """Pickle it as its machine code, and its kernel by name."""
        return _unpickled, (self.origin, self.artifact.to_bytes())

    __iter__ = None  # by `__getitem__` alone Python would iterate for ever

    @without_our_frames
    def __getitem__(self, key: Any) -> Callable[..., None]:
        """Return the launch function: ``compiled[grid](*args)``; a subscript is as for `Kernel.__getitem__`."""
        return self._kernel[key]  # type: ignore[no-any-return]

    @without_our_frames
    def launch(self, launch: Launch, /, *args: Any, **kwargs: Any) -> None:
        """Launch it. Errors: as `Kernel.launch`, and `ArgumentError` for arguments that need another specialisation."""
        self._kernel.launch(launch, *args, **kwargs)

    @without_our_frames
    def __call__(self, /, *args: Any, grid: Any, stream: Any = None, smem: int = 0, **kwargs: Any) -> None:
        """Launch it: ``compiled(a, b, grid=132)``. Arguments and errors are as for `launch`."""
        self.launch(Launch(grid, stream=stream, smem=smem), *args, **kwargs)

    @classmethod
    def of(cls, build: Build) -> Compiled:
        """Return the result of a compile that has just ended."""
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
        """The name of the kernel in the machine code, as profilers show it."""
        return self.artifact.name

    @property
    def arch(self) -> str:
        """The target that it is compiled for, such as 'sm_90a'."""
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
        """The text of the LLVM IR."""
        return self.build.llvm

    @property
    def ptx(self) -> str:
        """PTX that every ptxas compiles correctly: it avoids the bugs of all known versions."""
        return self.artifact.ptx or self.build.portable_ptx

    @property
    def cubin(self) -> bytes:
        """The machine code. Errors: `ToolchainError` where there was no assembler to make it."""
        if not self.artifact.cubin:
            message = f"{self.name} is compiled to PTX only: there was no assembler (see `cutelite doctor`)"
            raise toolchain.ToolchainError("find", message)
        return self.artifact.cubin

    @cached_property
    def sass(self) -> Sass | None:
        """The machine code, as text and as loops and mixes: ``sass.loops[0].mix``. None without a disassembler."""
        return toolchain.disassemble(self.cubin, self.build.ptx if ".loc" in self.artifact.ptx else "")

    def explore(self, timeline: Timeline | None = None, report: CheckReport | None = None) -> Exploration:
        """Return a page that shows the kernel: source, IR, PTX and machine code, linked by line (docs/profiling.md).

        timeline  of a simulated launch (`kernel.trace_launch`): cycles by line
        report    of a check (`kernel.check`): findings and notes by line
        Result    ``.save("page.html")``; ``.against(other)`` compares two. In a notebook it is shown as it is
        """
        from cutelite import explore

        build = self._with_lines
        occupancy = self.occupancy()._asdict() if self.registers >= 0 else None
        facts = explore.Facts(self.name, self.registers, self.spills, self.shared_memory, occupancy, self.warnings)
        return explore.Exploration(explore.kernel_data(build, facts, timeline, report))

    @cached_property
    def _with_lines(self) -> Build:
        """Every stage's artefact, with source lines."""
        from cutelite import pipeline

        build = self.build
        if build.options.line_info:
            return build
        options = replace(build.options, line_info=True)
        return pipeline.compile_kernel(build.source, build.target, options, Config())

    def _repr_html_(self) -> str:
        return self.explore()._repr_html_()

    def stage(self, name: str) -> dict[str, str | bytes]:
        """Return a stage's files by name; `name` is one of 'bytecode', 'cfg', 'cir', 'll', 'ptx', 'cubin', 'sass'.

        File names end with the stage's name; 'cir' has a file for each pass. Empty for 'sass' without a disassembler.
        """
        from cutelite.builds import dumps

        if name not in STAGES:
            raise ValueError(f"no stage is called {name!r}; there are {', '.join(STAGES)}")
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
    def spill_lines(self) -> dict[tuple[str, int], tuple[int, int]]:
        """(file, line) -> bytes per thread (stored, loaded) because registers ran out; the largest first.

        It comes from `Sass.spills`: empty without a disassembler, and without `line_info=True`.
        """
        lines = self.spills > 0 and ".loc" in self.artifact.ptx
        return self.sass.spills if lines and self.sass is not None else {}

    @property
    def shared_memory(self) -> int:
        """Bytes of shared memory per block that the kernel declares; a launch adds `Launch.smem`."""
        return self.artifact.static_smem + self.artifact.dynamic_smem

    @property
    def warnings(self) -> list[str]:
        """Warnings of compiler and assembler: register tensors in local memory, spills, serialised wgmma."""
        signature = self.artifact.signature or {}
        return [str(text) for text in signature.get("warnings", ())]

    @property
    def _report(self) -> dict[str, Any]:
        report: dict[str, Any] = (self.artifact.signature or {}).get("report", {})
        return report

    @property
    def stack_frame(self) -> int:
        """Bytes of local memory per thread: spills, and arrays indexed at run time; -1 where not known."""
        return int(self._report.get("stack_frame", -1))

    @property
    def barriers(self) -> int:
        """The number of barriers that the kernel uses (`barrier.sync` and the like); -1 where not known."""
        return int(self._report.get("barriers", -1))

    @property
    def constant_banks(self) -> dict[int, int]:
        """Constant bank -> bytes of it that are used. Parameters are in bank 0, `cl.constant` arrays in bank 3."""
        return {int(bank): int(size) for bank, size in self._report.get("constants", {}).items()}

    @property
    def log(self) -> str:
        """The text that `ptxas -v` printed; '' where there was no assembler."""
        return str(self._report.get("log", ""))

    @without_our_frames
    def occupancy(self, smem: int = 0, block: Extent | None = None) -> Occupancy:
        """Return how many blocks one multiprocessor holds, and what limits them.

        smem    bytes of shared memory that the launch adds
        block   another block than the kernel was compiled for, with the same registers per thread
        Errors  `LaunchError` for what cannot be launched; `ToolchainError` without an assembler to count registers
        """
        block = self.artifact.block if block is None else extents(block, "block")
        assert block is not None, "kernels are compiled for a block"
        if type(smem) is not int or smem < 0:
            raise LaunchError(f"smem is {smem!r}, but must be a number of bytes, 0 or more")
        if self.registers < 0:
            message = f"the registers of {self.name} are not known: there was no assembler (see `cutelite doctor`)"
            raise toolchain.ToolchainError("find", message)
        target = Target.parse(self.arch)
        check_shape(block, None, target)
        return target.occupancy(block[0] * block[1] * block[2], self.registers, self.shared_memory + smem)

    def resident_blocks(self, smem: int = 0, cluster: Extent | None = None) -> int:
        """Return how many blocks the current GPU runs at once, in whole clusters: the grid of 'persistent'.

        smem     bytes of shared memory that the launch adds
        cluster  another cluster than the kernel was compiled for
        Errors   `CudaError` without a driver or a GPU that the code runs on
        """
        artifact = self.artifact
        assert artifact.block is not None, "kernels are compiled for a block"
        x, y, z = shape = artifact.cluster or (1, 1, 1) if cluster is None else extents(cluster, "cluster")
        config = rt.LaunchConfig(shape, artifact.block, shape, smem + artifact.dynamic_smem)
        return rt.resident_clusters(rt.load(artifact, rt.device()), config) * x * y * z

    def __repr__(self) -> str:
        registers = f"{self.registers} registers" if self.registers >= 0 else "PTX alone"
        return f"<{self.name} for {self.arch}: {registers}, {self.shared_memory} bytes of shared memory>"


def _unpickled(origin: tuple[Any, Any] | None, artifact: bytes) -> Compiled:
    """Return a compiled kernel of another process. Errors: `ArtifactError` if its runtime has another format."""

    def again() -> Build:
        if origin is None:
            raise LaunchError(f"{made.name} was compiled without its kernel: there is nothing to compile again")
        kernel, spec = origin
        return kernel.compile_again(spec)  # type: ignore[no-any-return]

    made = Compiled(Artifact.from_bytes(artifact), again)
    made.origin = origin
    return made
