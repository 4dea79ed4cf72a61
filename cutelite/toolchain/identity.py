"""Which tools make a cubin: part of the key of anything cached. Asked in every process, so it runs and loads little."""

from __future__ import annotations

import os

from cutelite.toolchain import find

SCRIPT_BYTES = 1 << 20
"""An assembler smaller than this is a script that starts another one."""


def identity(assembler: str = "auto", backend: str = "llvm") -> str:
    """Text that is another one whenever the tools that make a cubin are.

    Reads the assembler's size and time of change; runs it only where it is a script, which says nothing of what it
    starts.
    """
    return f"{_backend(backend)}; {_assembler(assembler)}"


def _backend(backend: str) -> str:
    if backend == "nvvm":
        from cutelite.toolchain import nvvm

        nvvm.check()
        return _stamp(str(find.library("nvvm").abs_path))  # type: ignore[union-attr]
    import llvmlite  # its version alone: a millisecond, where the bindings take 40

    return f"llvmlite {llvmlite.__version__}"


def _assembler(assembler: str) -> str:
    program = find.ptxas() if assembler in ("auto", "ptxas") else None
    if program is None:
        from cutelite.toolchain import assemble, driver, nvjitlink

        chosen = assemble.first_there(assembler)
        versions = {"nvjitlink": nvjitlink.version, "driver": driver.version}
        return f"{chosen} {versions[chosen]()}" if chosen in versions else "no assembler"
    if os.stat(program).st_size >= SCRIPT_BYTES:
        return _stamp(program)
    from cutelite.toolchain import ptxas

    return f"{_stamp(program)} {ptxas.version(program)}"


def _stamp(path: str) -> str:
    status = os.stat(path)
    return f"{os.path.realpath(path)} {status.st_size} {status.st_mtime_ns}"
