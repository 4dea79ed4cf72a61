"""The stages in order, each a function from one artefact to the next. Read this first.

    Python function --front--> typed SSA --passes--> typed SSA --lower--> LLVM IR --toolchain--> PTX --> cubin
                                    |
                                    +--sim--> numbers, with no GPU

Each artefact can be looked at (`Build`), dumped (`CUTELITE_DUMP`) and is timed. No stage keeps state between
kernels, so kernels may be compiled in any number of threads.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from time import perf_counter
from types import FunctionType, TracebackType
from typing import TYPE_CHECKING, Any, NamedTuple

from cutelite import lower, passes, toolchain
from cutelite.config import Config
from cutelite.diag import CompileError, InternalError, Mistake, Note, Span, render
from cutelite.front import bytecode, cfg
from cutelite.front.build import build as evaluate
from cutelite.front.types import ArgType
from cutelite.ir.builder import Builder
from cutelite.ir.function import Function
from cutelite.ir.types import Scalar, TensorMap
from cutelite.ir.verifier import verify
from cutelite.options import Options
from cutelite.passes.written import written_parameters
from cutelite.target import Target
from cutelite.toolchain import ToolchainError
from cutelite_rt import Artifact

if TYPE_CHECKING:
    from cutelite.sim import CheckReport, Timeline


class Source(NamedTuple):
    """What is compiled: a Python function, for arguments of these types (see `front.build.build`)."""

    function: FunctionType
    types: dict[str, ArgType]
    dims: dict[str, Scalar]
    attrs: dict[str, Any]


@dataclass
class Build:
    """Every stage's artefact of one compile.

    front     the IR as the frontend made it; `final` as it was lowered
    passes    IR text after each pass, by number and name, where it was asked for
    ptx       as it was assembled here; `portable_ptx`, which is kept, avoids the bugs of every ptxas
    artifact  what is launched: the cubin, or PTX alone where there is no assembler
    times     seconds by stage
    warnings  what passes and tools found worth telling, as text
    """

    source: Source
    target: Target
    options: Options
    front: Function
    final: Function | None = None
    passes: dict[str, str] = field(default_factory=dict)
    llvm: str = ""
    ptx: str = ""
    portable_ptx: str = ""
    artifact: Artifact | None = None
    times: dict[str, float] = field(default_factory=dict)
    warnings: list[str] = field(default_factory=list)


def compile_kernel(source: Source, target: Target, options: Options, environment: Config) -> Build:
    """From a Python function to an artefact that can be launched.

    Errors  `CompileError` for the user's mistakes, `InternalError` for ours, `ToolchainError` for a missing tool
    """
    times: dict[str, float] = {}
    context = passes.Context(target)
    with _stage("front", times):
        front = evaluate(*source, target)
    build = Build(source, target, options, front, times=times)
    with _stage("passes", times):
        verify(front, "front")
        build.final = passes.run(passes.PIPELINE, front, context, dump=_keeper(build, environment), verified=False)
    with _stage("lower", times):
        build.llvm = lower.to_llvm(build.final, target, line_info=options.line_info)
    with _stage("llvm", times, build):
        written = toolchain.write_ptx(build.llvm, target, opt_level=options.opt, backend=options.backend)
    with _stage("assemble", times, build):
        build.ptx, build.portable_ptx = toolchain.for_ptxas(written, options.assembler)
        cubin = _assembled(build)
    told = cubin.warnings if cubin else ()
    build.warnings = [*map(str, context.warnings), *(_tool_warning(warning, build.final) for warning in told)]
    build.warnings += _spills(build, cubin) + _crossings(build, cubin)
    build.artifact = _artifact(build, cubin)
    _dump(build, environment)
    _report(build, environment)
    return build


def for_simulator(source: Source, target: Target) -> Function:
    """The IR that `simulate` takes: the frontend's, checked by the passes as for a GPU. Errors: as `compile_kernel`."""
    return _both_ends(source, target)[0]


def for_costs(source: Source, target: Target) -> Function:
    """The same as the passes leave it: with the accesses that the GPU makes. Errors: as `compile_kernel`."""
    return _both_ends(source, target)[1]


def _both_ends(source: Source, target: Target) -> tuple[Function, Function]:
    times: dict[str, float] = {}
    with _stage("front", times):
        front = evaluate(*source, target)
    with _stage("passes", times):
        verify(front, "front")
        return front, passes.run(passes.PIPELINE, front, passes.Context(target), verified=False)


def simulate(
    function: Function,
    grid: tuple[int, int, int],
    args: Sequence[Any],
    dims: dict[str, int],
    smem: int,
    seed: int,
) -> None:
    """Run what `for_simulator` gave on the CPU, writing to the NumPy arrays among `args`. Errors: `SimError`."""
    from cutelite import sim  # which needs NumPy

    sim.run(function, grid, args, dims=dims, smem_dynamic=smem, seed=seed)


def check(
    function: Function,
    grid: tuple[int, int, int],
    args: Sequence[Any],
    dims: dict[str, int],
    smem: int,
    **options: Any,
) -> CheckReport:
    """Simulate under several schedules, watched by the model of memory. `options` and errors: as `sim.check`."""
    from cutelite import sim

    return sim.check(function, grid, args, dims=dims, smem_dynamic=smem, **options)


def trace(
    function: Function,
    grid: tuple[int, int, int],
    args: Sequence[Any],
    dims: dict[str, int],
    smem: int,
    seed: int,
) -> Timeline:
    """Simulate, and keep what happens when. Errors: as `sim.trace`."""
    from cutelite import sim

    return sim.trace(function, grid, args, dims=dims, smem_dynamic=smem, seed=seed)


def stage(build: Build, name: str) -> dict[str, str | bytes]:
    """The artefact of the stage `name` as files: what their names end in, and what is in them.

    name  of `config.STAGES`; 'cir' has a file for each pass, the others one
    """
    function: FunctionType = build.source[0]
    match name:
        case "bytecode":
            return {"bytecode": str(bytecode.read(function))}
        case "cfg":
            return {"cfg": str(cfg.build(bytecode.read(function)))}
        case "cir":
            if not build.passes:
                keep = _kept(build.passes)
                keep("front", build.front)
                passes.run(passes.PIPELINE, build.front, passes.Context(build.target), dump=keep)
            return {f"{number_and_name}.cir": text for number_and_name, text in build.passes.items()}
        case "ll":
            return {"ll": build.llvm}
        case "ptx":
            return {"ptx": build.ptx}
    image = build.artifact.cubin if build.artifact else b""
    if name == "cubin":
        return {"cubin": image}
    text = disassemble(image)
    return {} if text is None else {"sass": text}


def disassemble(cubin: bytes) -> str | None:
    """Machine code as text; None where no disassembler is found."""
    return toolchain.disassemble(cubin)


def no_assembler(kernel: str) -> ToolchainError:
    """What to say to those who ask for machine code where there was nothing to make it."""
    return ToolchainError("find", f"{kernel} is compiled to PTX only: there was no assembler (see `cutelite doctor`)")


# What goes wrong.


@contextmanager
def _stage(name: str, times: dict[str, float], build: Build | None = None) -> Iterator[None]:
    """Time a stage; what it raises and nobody has foreseen is an `InternalError` that says where."""
    start = perf_counter()
    try:
        yield
    except (CompileError, InternalError):
        raise
    except ToolchainError as error:
        raise _refused(error, build) from error
    except Exception as error:
        raise _unforeseen(error, name) from error
    times[name] = perf_counter() - start


def _refused(error: ToolchainError, build: Build | None) -> Exception:
    """A tool takes not what we made, which is our fault unless the user had a hand in it."""
    if error.stage == "find" or build is None or build.final is None:
        return error
    options = build.options.ptxas_options
    if options and "unknown option" in error.message.lower():
        return ToolchainError(error.stage, f"{error.message.strip()}\nthe options given are: {' '.join(options)}")
    few = re.search(r"Insufficient registers \((\d+)\).* target of (\d+) or higher", error.message)
    if few:
        text = f"the kernel may use {few[1]} registers a thread, and ptxas needs {few[2]} for one of its instructions"
        help = "take smaller tiles, or allow more: `max_registers=`, `min_blocks=`, smaller blocks"
        return CompileError(Mistake("registers", text, help=help), _first(build.final, "wgmma"))
    own = [op.span for op in build.final.ops() if op.name == "asm" and op.span is not None]
    if not own:
        return InternalError(error.message.strip(), stage=error.stage, ir=error.excerpt)
    mistake = Mistake(
        "inline-ptx",
        f"{error.stage} refuses the PTX of this kernel",
        "PTX of your own stands here",
        "where the lines above are not of your own PTX, this is a bug in cutelite: please report it",
    )
    others = [Note("and here", span) for span in dict.fromkeys(own[1:]) if span != own[0]]
    return CompileError(mistake, own[0], [*others, Note(f"{error.message.strip()}\n{error.excerpt}".rstrip())])


def _unforeseen(error: Exception, stage: str) -> InternalError:
    """A bug of ours, at the user's line that was being compiled. (Passes and `lower` report the op: `ir.faults`.)"""
    span = None
    for builder in _builders(error.__traceback__):
        span = builder.span or span
    return InternalError(f"{type(error).__name__}: {error}", stage=stage, span=span)


def _builders(traceback: TracebackType | None) -> Iterator[Builder]:
    """The builders that were at work where an exception came through, outermost first."""
    while traceback is not None:
        yield from (local for local in list(traceback.tb_frame.f_locals.values()) if isinstance(local, Builder))
        traceback = traceback.tb_next


# The last stage.


def _assembled(build: Build) -> toolchain.Cubin | None:
    """The cubin; None where there is nothing to assemble with: PTX is of use by itself."""
    options = build.options
    try:
        return toolchain.to_cubin(
            build.ptx,
            build.target,
            assembler=options.assembler,
            opt_level=options.opt,
            options=options.ptxas_options,
        )
    except ToolchainError as error:
        if error.stage != "find" or options.assembler != "auto":
            raise
        return None


def _tool_warning(warning: toolchain.ToolWarning, final: Function) -> str:
    """What the assembler warned of, at the kernel's first instruction of the kind it speaks of: it names no line."""
    kind = re.search(r"\b(wgmma|setmaxnreg)\b", warning.message)
    mistake = Mistake(warning.code or "assembler", warning.message, severity="warning")
    return render(mistake, _first(final, kind[1]) if kind else None)


def _spills(build: Build, cubin: toolchain.Cubin | None) -> list[str]:
    """What each thread stores and loads because registers ran out, at the kernel."""
    usage = cubin.usage if cubin else None
    if usage is None or not usage.spill_stores + usage.spill_loads:
        return []
    code = build.source.function.__code__
    stored, loaded = usage.spill_stores, usage.spill_loads
    mistake = Mistake(
        "spills",
        f"registers ran out in `{build.front.name}`: each thread stores {stored} bytes and loads {loaded} for that",
        f"{usage.registers} registers a thread is what it may use",
        "keep fewer values at a time, take smaller tiles or blocks, or allow more registers: `max_registers=`, "
        "`min_blocks=`",
        severity="warning",
    )
    return [render(mistake, Span(code.co_filename, code.co_firstlineno, function=code.co_name))]


def _crossings(build: Build, cubin: toolchain.Cubin | None) -> list[str]:
    """What the assembler moved behind fences of operands, at their lines; nothing is looked at where there are none."""
    assert build.final is not None, "the passes have run"
    fences = {op["mark"]: op.span for op in build.final.ops() if op.name == "wgmma.fence_operand" and op["held"]}
    if not fences or cubin is None:
        return []
    found = []
    for mark, count in toolchain.crossed(build.ptx, cubin.image).items():
        mistake = Mistake(
            "wgmma-order",
            f"the assembler moved {count} operations behind this fence",
            "what makes these values was to stay above",
            "a product or a wait behind it does not overlap with them: have less in registers, or put a branch between",
            severity="warning",
        )
        found.append(render(mistake, fences[mark]))
    return found


def _first(final: Function, kind: str) -> Span | None:
    """Where the kernel's first instruction of a kind stands: 'wgmma' for wgmma.mma_async and its like."""
    return next((op.span for op in final.ops() if op.name.split(".")[0] == kind and op.span), None)


def _artifact(build: Build, cubin: toolchain.Cubin | None) -> Artifact:
    final = build.final
    assert final is not None, "the passes have run"
    x, y, z = final.attrs["block"]
    usage = cubin.usage if cubin else None
    return Artifact(
        name=final.name,
        arch=build.target.arch,
        cubin=cubin.image if cubin else b"",
        ptx=build.portable_ptx,
        params=parameter_kinds(final),
        static_smem=usage.smem_static if usage else 0,
        dynamic_smem=final.attrs.get("smem_bytes", 0),
        block=(x, y, z),
        cluster=final.attrs.get("cluster"),
        registers=usage.registers if usage else -1,
        spills=usage.spill_stores + usage.spill_loads if usage else -1,
        max_threads=x * y * z,
        written=written_parameters(build.front),
        built_with=cubin.cuda_version if cubin else (0, 0),
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


# What the environment asks to see.

Keep = Callable[[str, Function], None]


def _kept(texts: dict[str, str]) -> Keep:
    def keep(name: str, function: Function) -> None:
        texts[f"{len(texts):02}-{name}"] = str(function)

    return keep


def _keeper(build: Build, environment: Config) -> Keep | None:
    """What keeps the IR after each pass as text, where it is to be dumped."""
    if "cir" not in environment.dump:
        return None
    keep = _kept(build.passes)
    keep("front", build.front)
    return keep


def _dump(build: Build, environment: Config) -> None:
    """Write the stages that CUTELITE_DUMP names to CUTELITE_DUMP_DIR, as `kernel.architecture.stage`."""
    if not environment.dump:
        return
    folder = Path(environment.dump_dir)
    folder.mkdir(parents=True, exist_ok=True)
    for name in environment.dump:
        for ending, content in stage(build, name).items():
            path = folder / f"{build.front.name}.{build.target}.{ending}"
            path.write_bytes(content if isinstance(content, bytes) else content.encode())


def _report(build: Build, environment: Config) -> None:
    """Say what is worth telling, once: when the kernel is compiled, and not when it comes from the cache."""
    lines = list(build.warnings)
    if environment.times:
        parts = ", ".join(f"{stage} {seconds * 1e3:.1f} ms" for stage, seconds in build.times.items())
        lines.append(f"cutelite: {build.front.name} for {build.target}: {parts}")
    if lines:
        sys.stderr.write("\n".join(lines) + "\n")
