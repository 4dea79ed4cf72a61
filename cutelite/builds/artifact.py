"""The last stage: PTX -> cubin, and the artefact that is launched."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import AbstractContextManager, nullcontext
from typing import Any

from cutelite import ops, toolchain
from cutelite.builds import collector
from cutelite.builds.build import Build
from cutelite.ir.function import Function
from cutelite.ops.parameters import kinds
from cutelite.options import Options
from cutelite.passes.written import written_parameters
from cutelite.target import Target
from cutelite.toolchain import ToolchainError
from cutelite_rt import Artifact


def early(target: Target, options: Options) -> AbstractContextManager[Any]:
    """Start ptxas before there is PTX, if that is what will assemble it: for `assembled`."""
    if options.debug:  # whose flags the PTX decides
        return nullcontext()
    linked = [path for path in options.link_libraries if not path.endswith(BITCODE)]
    return toolchain.early(target, **_how(options), libraries=linked)


def assembled(build: Build, started: Any, more: Callable[[], None]) -> toolchain.Cubin | None:
    """Return the cubin; None if no assembler is found, since PTX alone is useful too. `more` is called meanwhile."""
    linked = [path for path in libraries(build) if not path.endswith(BITCODE)]

    def meanwhile() -> None:
        more()
        collector.catch_up()

    how = {**_how(build.options), "libraries": linked, "meanwhile": meanwhile, "started": started}
    try:
        return toolchain.to_cubin(build.ptx, build.target, **how)
    except ToolchainError as error:
        if error.stage != "find" or build.options.assembler != "auto":
            raise
        return None


def _how(options: Options) -> dict[str, Any]:
    return {"assembler": options.assembler, "opt_level": options.opt, "options": options.ptxas_options}


BITCODE = (".bc",)
"""Suffixes of files that LLVM links."""

LINKED = (".ptx", ".cubin", ".fatbin", ".o", ".obj", ".a", ".lib", ".ltoir")
"""Suffixes of files that nvJitLink links."""


def libraries(build: Build) -> list[str]:
    """Return the files to link: those of the option, and of the functions that the kernel calls, each once.

    Errors  `ToolchainError` for a file with another suffix
    """
    assert build.final is not None, "the passes have run"
    called = (path for op in build.final.ops() if op.name == "call" for path in op["libraries"])
    found = list(dict.fromkeys((*build.options.link_libraries, *called)))
    for path in found:
        if not path.endswith((*BITCODE, *LINKED)):
            raise ToolchainError("link", f"{path}: a library must end in one of {', '.join((*BITCODE, *LINKED))}")
    return found


def artifact(build: Build, cubin: toolchain.Cubin | None) -> Artifact:
    """Return the artefact to launch: the cubin, or PTX if there is none, with the facts that the runtime needs."""
    final = build.final
    assert final is not None, "the passes have run"
    x, y, z = final.attrs["block"]
    usage = cubin.usage if cubin else None
    return Artifact(
        name=final.name,
        arch=build.target.arch,
        cubin=cubin.image if cubin else b"",
        ptx="" if libraries(build) else build.portable_ptx,  # PTX that still has to be linked cannot be loaded
        params=kinds(final),
        static_smem=usage.smem_static if usage else 0,
        dynamic_smem=final.attrs.get("smem_bytes", 0),
        block=(x, y, z),
        cluster=final.attrs.get("cluster"),
        registers=usage.registers if usage else -1,
        spills=usage.spill_stores + usage.spill_loads if usage else -1,
        max_threads=x * y * z,
        written=written_parameters(build.front),
        built_with=cubin.cuda_version if cubin else (0, 0),
        signature={"warnings": build.warnings, "report": report(cubin), **marks(final), **records(final)},
    )


def marks(final: Function) -> dict[str, Any]:
    """Return the names of the events that the kernel records, by number; {} if it records none."""
    return {"marks": ops.debug.mark_names(final.ops())} if final.attrs.get("profile") else {}


def records(final: Function) -> dict[str, Any]:
    """Return the ops whose values the kernel keeps, as texts by number; {} if it keeps none."""
    if not final.attrs.get("record"):
        return {}
    return {"records": {str(number): op["what"] for number, op in ops.debug.recorded_ops(final.ops()).items()}}


def report(cubin: toolchain.Cubin | None) -> dict[str, Any]:
    """Return the assembler's report on a cubin, as JSON data; {} without a cubin. Launches do not need it."""
    if cubin is None:
        return {}
    return {
        "stack_frame": cubin.usage.stack_frame,
        "barriers": cubin.usage.barriers,
        "constants": {str(bank): size for bank, size in cubin.constants.items()},
        "log": "".join(line for line in cubin.log.splitlines(True) if "Compile time = " not in line),
    }
