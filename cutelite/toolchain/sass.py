"""Cubin -> SASS, by nvdisasm if it is installed."""

from __future__ import annotations

import functools
import re
import subprocess
import tempfile
from pathlib import Path

from cutelite.sass import Sass
from cutelite.toolchain import find
from cutelite.toolchain.errors import ToolchainError


def disassemble(image: bytes, ptx: str = "") -> Sass | None:
    """Return the instructions of a cubin, with source lines if it has them; None if nvdisasm is not found.

    ptx     the PTX that the cubin was assembled from, if known
    Errors  `ToolchainError` for bytes that nvdisasm refuses
    """
    printed = _nvdisasm(image, "--print-line-info-inline", "--print-line-info-ptx")
    return None if printed is None else Sass.of(printed, image, ptx)


def live_registers(image: bytes) -> dict[int, int] | None:
    """Return the number of live registers at each address of a cubin's first kernel; None without nvdisasm."""
    printed = _nvdisasm(image, "--life-range-mode", "count")
    if printed is None:
        return None
    found: dict[int, int] = {}
    for address, count in re.findall(r"^\s*/\*([0-9a-f]{4,})\*/.*?// \|\s*(\d*)\s*\|", printed, re.MULTILINE):
        if int(address, 16) in found:
            break
        found[int(address, 16)] = int(count or 0)
    return found


def _nvdisasm(image: bytes, *flags: str) -> str | None:
    program = find.program("nvdisasm")
    return None if program is None else _printed(program, image, flags)


@functools.lru_cache(maxsize=8)
def _printed(program: str, image: bytes, flags: tuple[str, ...]) -> str:
    """Return what nvdisasm prints. It takes 0.5 s for the smallest cubin, and warnings ask before users do."""
    with tempfile.TemporaryDirectory(prefix="cutelite-") as work:
        file = Path(work, "kernel.cubin")
        file.write_bytes(image)
        run = subprocess.run(
            [program, "--print-code", *flags, str(file)],
            capture_output=True, text=True, check=False, stdin=subprocess.DEVNULL,
        )  # fmt: skip
    if run.returncode != 0:
        raise ToolchainError("nvdisasm", run.stderr or f"exit status {run.returncode}")
    return run.stdout
