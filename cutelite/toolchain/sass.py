"""Cubin -> SASS text, by nvdisasm where there is one."""

from __future__ import annotations

import subprocess
import tempfile
from pathlib import Path

from cutelite.toolchain import find
from cutelite.toolchain.errors import ToolchainError


def disassemble(image: bytes) -> str | None:
    """Return the instructions of a cubin, with source lines if it holds them; None where no nvdisasm is found.

    Errors   `ToolchainError` for bytes that nvdisasm does not take
    """
    program = find.program("nvdisasm")
    if program is None:
        return None
    with tempfile.TemporaryDirectory(prefix="cutelite-") as work:
        file = Path(work, "kernel.cubin")
        file.write_bytes(image)
        run = subprocess.run(
            [program, "--print-code", "--print-line-info", str(file)],
            capture_output=True, text=True, check=False, stdin=subprocess.DEVNULL,
        )  # fmt: skip
    if run.returncode != 0:
        raise ToolchainError("nvdisasm", run.stderr or f"exit status {run.returncode}")
    return run.stdout
