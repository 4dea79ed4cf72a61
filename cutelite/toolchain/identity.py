"""The identity of the tools that make a cubin, which is part of every key of the cache.

Every process that launches a kernel needs it, even if the kernel is in the cache: so it runs and loads little.
"""

from __future__ import annotations

import os

from cutelite import toolchain
from cutelite.toolchain import bindings, find
from cutelite.toolchain.errors import ToolchainError

SCRIPT_BYTES = 1 << 20
"""An assembler smaller than this is a script that starts another one."""


def identity(assembler: str = "auto", backend: str = "llvm") -> str:
    """Return a text that changes whenever the tools that make a cubin do.

    It has the assembler's size and time of change. If that is a script, they say nothing about the program that it
    starts: if the script names that program by its path, its size and time are added; otherwise it is run for its
    version.
    """
    return f"{_backend(backend)}; {_assembler(assembler)}"


def _backend(backend: str) -> str:
    if backend == "nvvm":
        toolchain.check_backend(backend)
        return stamp(str(find.library("nvvm").abs_path))  # type: ignore[union-attr]
    return f"llvmlite {bindings.llvmlite().__version__}"


def _assembler(assembler: str) -> str:
    program = find.ptxas() if assembler in ("auto", "ptxas") else None
    if program is None:
        chosen = toolchain.first_there(assembler)
        return f"{chosen} {toolchain.version_of(chosen)}" if chosen else "no assembler"
    stamps = [stamp(program)]
    while os.stat(program).st_size < SCRIPT_BYTES:
        started = _started_by(program) if len(stamps) < 5 else None  # a limit, since scripts may start each other
        if started is None:
            return f"{' '.join(stamps)} {toolchain.version_of('ptxas')}"
        program = started
        stamps.append(stamp(program))
    return " ".join(stamps)


def _started_by(script: str) -> str | None:
    """Return the only program that a script names by its path; None if it names several, or computes the name."""
    with open(script, "rb") as file:
        first, *lines = file.read().decode(errors="replace").splitlines() or [""]
    text = "\n".join(lines).replace("$@", "")
    if not first.startswith("#!") or "$" in text or "`" in text:
        return None
    words = {word.strip("\"'") for word in text.split()}
    programs = [word for word in words if os.path.isabs(word) and os.path.isfile(word)]
    return programs[0] if len(programs) == 1 and programs[0] != script else None


def stamp(path: str) -> str:
    """Return a text that changes whenever a file does. Errors: `ToolchainError` if there is no such file."""
    try:
        status = os.stat(path)
    except OSError as error:
        raise ToolchainError("link", f"{path}: {error.strerror}") from None
    return f"{os.path.realpath(path)} {status.st_size} {status.st_mtime_ns}"
