"""The stages in order, each a function from one artefact to the next. Read this first.

    Python function --front--> typed SSA --passes--> typed SSA --lower--> LLVM IR --toolchain--> PTX --> cubin
                                    |
                                    +--sim--> numbers, with no GPU

| stage    | by                                | makes        | dumped as       | what happens                         |
|----------|-----------------------------------|--------------|-----------------|--------------------------------------|
| front    | `front/build.py`                  | `Function`   | `.00-front.cir` | the bytecode is evaluated, inlined   |
| passes   | `passes.PIPELINE`, in its order   | `Function`   | `.NN-pass.cir`  | constants fold, addresses are made   |
| lower    | `lower/function.py`, op by op     | LLVM IR text | `.ll`           | each op is spelled by its template   |
| llvm     | `toolchain/llvm.py`, or `nvvm.py` | PTX text     | `.ptx`          | instructions are selected            |
| assemble | `toolchain/ptxas.py`, or others   | `Cubin`      | `.cubin`        | bugs of ptxas avoided; registers     |

A kernel comes here from `dispatch/specialise.py`, once for each specialisation that neither memory nor disk has; what
is launched goes back there, as `Build.artifact`. Each artefact can be looked at (`Build`, `kernel.compile(...).stage`),
dumped (`CUTELITE_DUMP`), printed (`CUTELITE_PRINT`) and is timed (`CUTELITE_TIMES`). How mistakes, warnings and dumps
are told is in `builds/`. No stage keeps state between kernels, so kernels may be compiled in any number of threads.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any

from cutelite import lower, passes, toolchain
from cutelite.builds.artifact import BITCODE, artifact, assembled, early, libraries
from cutelite.builds.build import Build
from cutelite.builds.dumps import keeper, show
from cutelite.builds.findings import findings
from cutelite.builds.hooks import HookError, Hooks
from cutelite.builds.refusals import check_parameters, stage, warned
from cutelite.builds.source import Source
from cutelite.config import Config
from cutelite.front.build import build as evaluate
from cutelite.ir.function import Function
from cutelite.ir.verifier import verify
from cutelite.options import Options
from cutelite.target import Target


def compile_kernel(source: Source, target: Target, options: Options, environment: Config) -> Build:
    """Compile a Python function to an artefact that can be launched.

    Errors  `CompileError` for the user's mistakes, `InternalError` for ours, `ToolchainError` for a missing tool
    """
    with early(target, options) as ptxas:
        return _compiled(source, target, options, environment, ptxas)


def _compiled(source: Source, target: Target, options: Options, environment: Config, ptxas: Any) -> Build:
    """Compile with `ptxas`, which has been started and waits for the PTX."""
    times: dict[str, float] = {}
    context = passes.Context(target)
    hooks = Hooks(source, target, options)
    steps = passes.pipeline(options.passes)
    hooks.before("front", source.function)
    build = Build(source, target, options, hooks.after("front", _front(source, target, times)))
    build.times = times
    front = hooks.before("passes", build.front)
    build.changed = hooks.changed
    unverified = [(front, "front")]
    with _verified_late(unverified, build) as meanwhile:
        with stage("passes", times, build):
            final = passes.run(steps, front, context, dump=keeper(build, environment), verified=False)
        unverified.append((final, "passes"))
        build.final = final = hooks.before("lower", hooks.after("passes", final))
        cubin = _machine_code(build, final, hooks, ptxas, meanwhile)
    build.warnings = [*map(str, context.warnings), *findings(build, cubin)]
    if options.warnings_as_errors and build.warnings:
        raise warned(build)
    with stage("assemble", {}, build):
        build.artifact = artifact(build, cubin)
    show(build, environment)
    return build


@contextmanager
def _verified_late(unverified: list[tuple[Function, str]], build: Build) -> Iterator[Callable[[], None]]:
    """Yield a function that verifies what stages made, in their order: it is called while ptxas runs.

    If it has not been called by the end of the block, or by an error, which may be explained by what it finds, this
    does so then. Passes leave the functions that they take as these are.
    """

    def check() -> None:
        while unverified:
            function, name = unverified.pop(0)
            with stage("passes", {}, build):
                verify(function, name)

    try:
        yield check
    except HookError:  # what passes made was verified before the hook changed it
        unverified.clear()
        raise
    finally:
        check()


def _machine_code(
    build: Build, final: Function, hooks: Hooks, ptxas: Any, meanwhile: Callable[[], None]
) -> toolchain.Cubin | None:
    """Return the cubin for `final`; None if no assembler is found. `meanwhile` is called while ptxas runs."""
    target, options, times = build.target, build.options, build.times
    build.changed = hooks.changed
    with stage("lower", times, build):
        text = lower.to_llvm(final, target, line_info=options.line_info)
    build.llvm = hooks.before("llvm", hooks.after("lower", text))
    build.changed = hooks.changed
    with stage("llvm", times, build):
        bitcode = [path for path in libraries(build) if path.endswith(BITCODE)]
        written = toolchain.write_ptx(
            build.llvm, target, opt_level=options.opt, backend=options.backend, bitcode=bitcode
        )
    written = hooks.before("assemble", hooks.after("llvm", written))
    build.changed = hooks.changed
    with stage("assemble", times, build):
        build.ptx, build.portable_ptx = toolchain.for_ptxas(written, options.assembler)
        cubin = assembled(build, ptxas, meanwhile)
    if cubin is not None:
        cubin = cubin._replace(image=hooks.after("assemble", cubin.image))
        build.changed = hooks.changed
    return cubin


def for_simulator(source: Source, target: Target) -> Function:
    """Return the IR that `sim.run` takes: the frontend's, checked by the passes as for a GPU.

    Errors  as `compile_kernel`
    """
    front = _front(source, target, {})
    _passed(front, passes.refusals(front), target)
    return front


def for_costs(source: Source, target: Target) -> Function:
    """Return the same as the passes leave it: with the accesses that the GPU makes. Errors: as `compile_kernel`."""
    final = _passed(_front(source, target, {}), passes.PIPELINE, target)
    verify(final, "passes")
    return final


def _front(source: Source, target: Target, times: dict[str, float]) -> Function:
    with stage("front", times):
        front = evaluate(*source, target)
        check_parameters(front, source)
        if front.attrs.get("record"):
            from cutelite.passes.recorded import recorded  # imported here: few kernels are compared with a GPU

            front = recorded(front)
    return front


def _passed(front: Function, steps: Sequence[passes.Pass], target: Target) -> Function:
    with stage("passes", {}):
        verify(front, "front")
        return passes.run(steps, front, passes.Context(target), verified=False)
