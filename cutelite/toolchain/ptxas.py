"""PTX -> cubin by running ptxas.

12 ms for a vector add, of which 2 are starting the program and the rest its own; files in memory, on disk, or
passed as descriptors make no difference that can be measured.
"""

from __future__ import annotations

import functools
import os
import re
import signal
import subprocess
import tempfile
from collections.abc import Sequence
from pathlib import Path

from cutelite.target import Target
from cutelite.toolchain.errors import ToolchainError, excerpt

_MEMORY = "/dev/shm"

CRASHES: dict[int, str] = {
    number: number.name for number in (signal.SIGSEGV, signal.SIGABRT, signal.SIGFPE, signal.SIGILL, signal.SIGBUS)
}


def assemble(program: str, ptx: str, target: Target, flags: Sequence[str]) -> tuple[bytes, str]:
    """Return the cubin and the log of ptxas. Errors: `ToolchainError` with ptxas' words and the PTX lines they name.

    Where ptxas crashes, as 13.0 and 13.5 do over a branch on a constant `lop3` in a loop, it is run once more without
    optimisation, which it survives; the log then begins with a warning.
    """
    folder = _MEMORY if os.access(_MEMORY, os.W_OK) else None  # a disk may be slow, or full
    with tempfile.TemporaryDirectory(prefix="cutelite-", dir=folder) as work:
        source, result = Path(work, "kernel.ptx"), Path(work, "kernel.cubin")
        source.write_text(ptx, encoding="utf-8")
        command = [program, "-v", f"-arch={target.arch}", *flags, str(source), "-o", str(result)]
        run, note = _run(command), ""
        if -run.returncode in CRASHES:
            note = f"ptxas warning : ptxas crashed ({CRASHES[-run.returncode]}), and has assembled this with -O0\n"
            run = _run([program, "-v", f"-arch={target.arch}", *_unoptimised(flags), str(source), "-o", str(result)])
        said = (run.stdout + run.stderr).replace(f"{source}, ", "")
        if run.returncode != 0:
            raise refused("ptxas", said or f"exit status {run.returncode}", ptx)
        return result.read_bytes(), note + said


def _run(command: list[str]) -> subprocess.CompletedProcess[str]:
    try:
        return subprocess.run(command, capture_output=True, text=True, check=False, stdin=subprocess.DEVNULL)
    except OSError as error:
        raise ToolchainError("ptxas", f"cannot run {command[0]}: {error}") from error


def _unoptimised(flags: Sequence[str]) -> list[str]:
    return [flag for flag in flags if not flag.startswith(("-O", "--opt-level", "-opt-level"))] + ["-O0"]


def refused(stage: str, said: str, ptx: str) -> ToolchainError:
    """Return the error for PTX that an assembler does not take, with the lines it names."""
    complaints = re.sub(r"^ptxas info .*\n?", "", said, flags=re.MULTILINE)
    return ToolchainError(stage, complaints, excerpt(ptx, complaints, r"line (\d+); *(?:error|fatal)"))


def version(program: str) -> str:
    """Return the version as ptxas tells it, `13.0.88`. Errors: `ToolchainError` if it does not run."""
    try:
        return _version(program, os.stat(program).st_mtime_ns)
    except OSError as error:
        raise ToolchainError("ptxas", f"cannot run {program}: {error}") from error


@functools.cache
def _version(program: str, changed: int) -> str:
    """Ask `program` once for each state of its file."""
    try:
        run = subprocess.run([program, "--version"], capture_output=True, text=True, check=True)
    except (OSError, subprocess.CalledProcessError) as error:
        raise ToolchainError("ptxas", f"cannot run {program}: {error}") from error
    found = re.search(r"V(\d+\.\d+\.\d+)", run.stdout)
    return found[1] if found else run.stdout.strip()
