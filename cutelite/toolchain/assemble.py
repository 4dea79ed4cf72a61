"""PTX -> cubin, by the first assembler that is installed: ptxas, nvJitLink, the driver."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager, nullcontext
from importlib import import_module
from typing import TYPE_CHECKING, Any

from cutelite.target import Target
from cutelite.toolchain import find, ptxas, ptxas_bugs
from cutelite.toolchain.errors import ToolchainError
from cutelite.toolchain.places import has_variables
from cutelite.toolchain.ptxas_bugs.bug import parse_version
from cutelite.toolchain.waiting import Waiting
from cutelite.tuples import NamedTuple

if TYPE_CHECKING:
    from cutelite.toolchain.cubin import Cubin

ASSEMBLERS = ("ptxas", "nvjitlink", "driver")


def to_cubin(
    ptx: str,
    target: Target,
    *,
    assembler: str = "auto",
    opt_level: int = 3,
    max_registers: int | None = None,
    options: Sequence[str] = (),
    libraries: Sequence[str] = (),
    meanwhile: Callable[[], None] | None = None,
    started: Waiting | None = None,
) -> Cubin:
    """Return machine code for `target`. Source lines in the PTX (`.loc`) and variables are kept in it.

    assembler      one of `ASSEMBLERS`, or `auto` for the first of them that is installed
    opt_level      0 to 3, passed to the assembler; PTX that describes variables is never optimised
    max_registers  limit of registers per thread; without one, the kernel's block size decides
    options        more flags of ptxas, taken by ptxas and nvJitLink
    libraries      files to link; with any, nvJitLink is used whatever `assembler` says
    meanwhile      called in this process while ptxas runs in its own
    started        of `early`
    Errors         `ToolchainError` if the assembler refuses the PTX, or none is installed
    """
    flags = level_flags(ptx, opt_level)
    if max_registers is not None:
        flags.append(f"-maxrregcount={max_registers}")
    flags.extend(options)
    chosen = "nvjitlink" if libraries else choose(assembler)
    if libraries and (why := _other("nvjitlink").missing()):
        raise ToolchainError("link", f"nvJitLink is needed to link {libraries[0]}: {why}")
    if chosen == "ptxas":
        program = find.ptxas()
        assert program is not None
        image, log = ptxas.assemble(program, ptx, target, flags, lambda: _meanwhile(meanwhile), started)
        tool = program
    elif chosen == "nvjitlink":
        image, log = _other("nvjitlink").assemble(ptx, target, flags, libraries)
        tool = "nvJitLink"
    else:
        image, log = _other("driver").assemble(ptx, target, opt_level, max_registers, options)
        tool = "driver"
    from cutelite.toolchain.cubin import Cubin
    from cutelite.toolchain.log import usage, warnings

    resources = usage(log)
    if resources is None:
        raise ToolchainError(chosen, f"{tool} wrote a cubin, but its log does not give the registers used:\n{log}")
    if chosen == "driver" and resources.smem_static:  # the driver also counts the part that the system reserves
        resources = resources._replace(smem_static=resources.smem_static - target.smem_reserved)
    return Cubin(image, target.arch, resources, warnings(log), log, tool)


def _meanwhile(more: Callable[[], None] | None) -> None:
    """Import the files that read what ptxas returns, and call `more`, while ptxas runs."""
    import_module("cutelite.toolchain.cubin")
    if more is not None:
        more()


def _other(assembler: str) -> Any:
    """Return the module of an assembler that few processes use: it is imported when asked for."""
    return import_module(f"cutelite.toolchain.{assembler}")


def early(
    target: Target,
    *,
    assembler: str = "auto",
    opt_level: int = 3,
    options: Sequence[str] = (),
    libraries: Sequence[str] = (),
) -> AbstractContextManager[Waiting | None]:
    """Start ptxas before its PTX is made, if that is what will assemble it, for `to_cubin` with the same arguments.

    The PTX describes no variables, by which `level_flags` would change.
    """
    try:
        program = find.ptxas() if not libraries and first_there(assembler) == "ptxas" else None
    except ToolchainError:  # `to_cubin` raises it again
        program = None
    if program is None:
        return nullcontext()
    return ptxas.early(program, target, [*level_flags("", opt_level), *options])


def level_flags(ptx: str, opt_level: int) -> list[str]:
    """Return ptxas' flags for an optimisation level, or its flags for debuggers if the PTX describes variables."""
    return ["-O0", "-g"] if has_variables(ptx) else [f"-O{opt_level}"]


class PtxForms(NamedTuple):
    """PTX in two forms, mostly equal: `here` for the assembler in use, `anywhere` for an unknown one."""

    here: str
    anywhere: str


def for_ptxas(ptx: str, assembler: str) -> PtxForms:
    """Rewrite `ptx`, as `write_ptx` returned it, to avoid bugs of assemblers. Return both forms.

    assembler  as for `to_cubin`; its version is only asked for if some bug occurs in `ptx`
    """
    anywhere = ptxas_bugs.avoid(ptx)
    if anywhere == ptx or (chosen := first_there(assembler)) is None:
        return PtxForms(anywhere, anywhere)
    bugs = ptxas_bugs.bugs_of(parse_version(version_of(chosen)))
    return PtxForms(anywhere if bugs == ptxas_bugs.BUGS else ptxas_bugs.avoid(ptx, bugs), anywhere)


def version_of(assembler: str) -> str:
    """Return the version of one of `ASSEMBLERS`, which must be installed, as it reports it."""
    if assembler != "ptxas":
        return str(_other(assembler).version())
    program = find.ptxas()
    assert program is not None, "ptxas was chosen, so it was found"
    return ptxas.version(program)


def choose(assembler: str) -> str:
    """Return the assembler to use. Errors: `ToolchainError` if `assembler` is missing, or with `auto` all are."""
    chosen = first_there(assembler)
    if chosen is None:
        raise ToolchainError(
            "find",
            f"nothing to turn PTX into a cubin: looked for {', '.join(_wanted(assembler))}. "
            "`pip install cutelite[cuda]` brings ptxas; CUTELITE_PTXAS names one by its path; "
            "compiling to PTX, and the simulator, need none",
        )
    return chosen


def first_there(assembler: str) -> str | None:
    """Return `assembler` if it is installed; for `auto` the first one that is; None if there is none."""
    return next(filter(_is_there, _wanted(assembler)), None)


def _is_there(assembler: str) -> bool:
    return find.ptxas() is not None if assembler == "ptxas" else bool(_other(assembler).available())


def _wanted(assembler: str) -> tuple[str, ...]:
    return ASSEMBLERS if assembler == "auto" else (assembler,)
