"""The stages in order, each a function from one artefact to the next. Read this first.

    Python function --front--> typed SSA --passes--> typed SSA --lower--> LLVM IR --toolchain--> PTX --> cubin
                                    |
                                    +--sim--> numbers, with no GPU

Each artefact can be looked at (`Build`), dumped (`CUTELITE_DUMP`) and is timed. No stage keeps state between
kernels, so kernels may be compiled in any number of threads.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from time import perf_counter
from typing import TYPE_CHECKING, Any

from cutelite import passes
from cutelite.config import Config
from cutelite.ir.function import Function
from cutelite.ir.types import Scalar, Tensor, TensorMap
from cutelite.ir.verifier import verify
from cutelite.target import Target
from cutelite_rt import Artifact

if TYPE_CHECKING:
    from cutelite.dispatch.arguments import Bound
    from cutelite.dispatch.options import Options


@dataclass
class Build:
    """Every stage's artefact of one compile.

    front     the IR as the frontend made it; `final` as it was lowered
    stages    pass name -> IR text after it, where it was asked for (`CUTELITE_DUMP=cir`)
    times     seconds by stage
    """

    front: Function
    final: Function | None = None
    stages: dict[str, str] = field(default_factory=dict)
    llvm: str = ""
    ptx: str = ""
    artifact: Artifact | None = None
    times: dict[str, float] = field(default_factory=dict)
    warnings: list[str] = field(default_factory=list)

    @contextmanager
    def timed(self, stage: str) -> Iterator[None]:
        start = perf_counter()
        yield
        self.times[stage] = self.times.get(stage, 0.0) + perf_counter() - start


def compile_kernel(front: Callable[[], Function], target: Target, options: Options, environment: Config) -> Build:
    """From the frontend's IR (what `front` returns) to an artefact that can be launched.

    Errors  `CompileError` for the user's mistakes, `InternalError` and `ToolchainError` for ours
    """
    from cutelite import lower, toolchain

    start = perf_counter()
    build = Build(front())
    build.times["front"] = perf_counter() - start
    context = passes.Context(target)
    with build.timed("passes"):
        verify(build.front, "front")
        keep = _keeper(build) if "cir" in environment.dump else None
        build.final = passes.run(passes.PIPELINE, build.front, context, dump=keep, verified=False)
    with build.timed("lower"):
        build.llvm = lower.to_llvm(build.final, target, line_info=bool(options.line_info))
    with build.timed("llvm"):
        build.ptx = to_ptx(build.llvm, target, options)
    with build.timed("assemble"):
        cubin = toolchain.to_cubin(
            build.ptx,
            target,
            assembler=options.assembler or "auto",
            opt_level=3 if options.opt is None else options.opt,
            options=options.ptxas_options or (),
        )
    build.warnings = [str(w) for w in context.warnings] + [str(w) for w in cubin.warnings]
    build.artifact = _artifact(build, target, cubin)
    _dump(build, environment)
    _report(build, environment)
    return build


def to_ptx(llvm: str, target: Target, options: Options) -> str:
    """PTX by the backend that the options name."""
    from cutelite import toolchain

    level = 3 if options.opt is None else options.opt
    return toolchain.to_ptx(llvm, target, opt_level=level, backend=options.backend or "llvm")


def _keeper(build: Build) -> Callable[[str, Function], None]:
    build.stages["00-front"] = str(build.front)

    def keep(name: str, function: Function) -> None:
        build.stages[f"{len(build.stages):02}-{name}"] = str(function)

    return keep


def _artifact(build: Build, target: Target, cubin: Any) -> Artifact:
    final = build.final
    assert final is not None
    threads = final.attrs["block"][0] * final.attrs["block"][1] * final.attrs["block"][2]
    return Artifact(
        name=final.name,
        arch=target.arch,
        cubin=cubin.image,
        ptx=build.ptx,
        params=parameter_kinds(final),
        static_smem=cubin.usage.smem_static,
        dynamic_smem=final.attrs.get("smem_bytes", 0),
        block=final.attrs["block"],
        cluster=final.attrs.get("cluster"),
        registers=cubin.usage.registers,
        spills=cubin.usage.spill_stores + cubin.usage.spill_loads,
        max_threads=threads,
        signature={"warnings": build.warnings},
    )


def parameter_kinds(function: Function) -> tuple[str, ...]:
    """The kind of each kernel parameter as `cutelite_rt` packs it: parameters, then dims."""
    kinds = []
    for value in (*function.params, *function.dims.values()):
        match value.type:
            case Scalar(name=name):
                kinds.append(name)
            case TensorMap():
                kinds.append("tensormap")
            case _:
                kinds.append("ptr")
    return tuple(kinds)


def _dump(build: Build, environment: Config) -> None:
    """Write the stages that CUTELITE_DUMP names to CUTELITE_DUMP_DIR."""
    if not environment.dump:
        return
    from cutelite import toolchain

    name = build.front.name
    environment.dump_dir.mkdir(parents=True, exist_ok=True)
    assert build.artifact is not None
    texts = {f"{stage}.cir": text for stage, text in build.stages.items()}
    texts |= {"ll": build.llvm, "ptx": build.ptx, "sass": ""}
    for extension, text in texts.items():
        wanted = extension.rpartition(".")[2]
        if wanted not in environment.dump:
            continue
        if wanted == "sass":
            text = toolchain.disassemble(build.artifact.cubin) or "no disassembler found: see `cutelite doctor`\n"
        (environment.dump_dir / f"{name}.{extension}").write_text(text)
    if "cubin" in environment.dump:
        (environment.dump_dir / f"{name}.cubin").write_bytes(build.artifact.cubin)


def _report(build: Build, environment: Config) -> None:
    for warning in build.warnings:
        print(warning, file=sys.stderr)
    if environment.times:
        parts = ", ".join(f"{stage} {seconds * 1e3:.1f} ms" for stage, seconds in build.times.items())
        print(f"cutelite: {build.front.name}: {parts}", file=sys.stderr)


def simulate(function: Function, grid: tuple[int, int, int], bound: Bound, smem: int, seed: int) -> None:
    """Run the frontend's IR on the CPU, on the arrays that `bound` holds; results are written in place."""
    from cutelite import sim
    from cutelite.dispatch.arguments import MapRequest

    count = len(function.params)
    dims = dict(zip(function.dims, bound.values[count:], strict=True))
    args = []
    for param, value in zip(function.params, bound.values[:count], strict=True):
        if isinstance(value, MapRequest):
            args.append(sim.SimTensorMap(value.view.owner, value.type, dims))
        elif isinstance(param.type, Tensor):
            args.append(value.owner)
        else:
            args.append(value)
    sim.run(function, grid, args, dims=dims, smem_dynamic=smem, seed=seed)
