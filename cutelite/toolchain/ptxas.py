"""PTX -> cubin by running ptxas.

It takes 12 ms for a vector add, 10 of which before it opens the PTX: so it may be started early. Passing files in
memory, on disk, or as descriptors makes no measurable difference.
"""

from __future__ import annotations

import _signal  # type: ignore[import-not-found]  # `signal` takes 0.6 ms to import
import functools
import os
import re
import struct
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager

from cutelite.target import Target
from cutelite.toolchain import running
from cutelite.toolchain.errors import ToolchainError, excerpt
from cutelite.toolchain.waiting import Waiting

_MEMORY = "/dev/shm"
_ROOM = 16 << 20  # bytes: with less room left it is not used. Containers have 64 MiB, which others may have filled

# With these, glibc takes memory in huge pages, 64 MiB at a time: 1200 page faults instead of 3600 to 6500.
_FEW_PAGES = {"GLIBC_TUNABLES": "glibc.malloc.hugetlb=1:glibc.malloc.top_pad=67108864"}

CRASHES = {getattr(_signal, name): name for name in ("SIGSEGV", "SIGABRT", "SIGFPE", "SIGILL", "SIGBUS")}


def assemble(
    program: str,
    ptx: str,
    target: Target,
    flags: Sequence[str],
    meanwhile: Callable[[], None] | None = None,
    started: Waiting | None = None,
) -> tuple[bytes, str]:
    """Return the cubin and the log of ptxas. Errors: `ToolchainError` with ptxas' words and the PTX lines they name.

    If ptxas crashes, as 13.0 and 13.5 do for a branch on a constant `lop3` in a loop, it is run again with -O0, which
    does not crash; the log then begins with a warning. `meanwhile` is called while ptxas runs.

    started  of `early`: it is used if it was started with the same program and flags, and takes the PTX
    """
    if started is not None:
        work = os.path.dirname(started.source)
        if started.command == _command(program, target, flags, work) and (ran := started.assemble(ptx, meanwhile)):
            return _cubin(work), _said(ran, work)
    with _folder() as work:
        try:
            with open(_source(work), "w", encoding="utf-8") as file:
                file.write(ptx)
        except OSError as error:
            raise ToolchainError("run", f"files for ptxas cannot be written: {error}") from error
        ran, note = _run(_command(program, target, flags, work), meanwhile), ""
        if -ran.status in CRASHES:
            note = f"ptxas warning : ptxas crashed ({CRASHES[-ran.status]}), and has assembled this with -O0\n"
            others = [flag for flag in flags if not flag.startswith(("-O", "--opt-level", "-opt-level"))]
            ran = _run(_command(program, target, [*others, "-O0"], work))
        said = _said(ran, work)
        if -ran.status in CRASHES or (said and ran.status != 0):
            version(program)  # which refuses other programs
            raise refused("ptxas", said or f"exit status {ran.status}", ptx)
        if ran.status != 0 or not os.path.exists(f"{work}/kernel.cubin"):
            with_what = f"{program} {' '.join(flags)}"
            raise ToolchainError("run", f"{with_what} made no cubin and said nothing (exit status {ran.status})")
        return _cubin(work), note + said


@contextmanager
def early(program: str, target: Target, flags: Sequence[str]) -> Iterator[Waiting | None]:
    """Start ptxas before its PTX is made, for `assemble`. It is ended with the context. None where it cannot be."""
    with _folder() as work:
        started = None
        try:
            if sys.platform == "linux":
                started = Waiting(_command(program, target, flags, work), _source(work), _FEW_PAGES)
        except OSError:  # `assemble` says why the program cannot be run
            pass
        try:
            yield started
        finally:
            if started is not None:
                started.stop()


def _command(program: str, target: Target, flags: Sequence[str], work: str) -> list[str]:
    """Return the command that assembles the source in a folder."""
    return [program, "-v", f"-arch={target.arch}", *flags, _source(work), "-o", f"{work}/kernel.cubin"]


def _source(work: str) -> str:
    return f"{work}/kernel.ptx"


def _said(ran: running.Ran, work: str) -> str:
    return ran.said.replace(f"{_source(work)}, ", "")


def _cubin(work: str) -> bytes:
    with open(f"{work}/kernel.cubin", "rb") as file:
        image = file.read()
    # ptxas does not notice that a disk is full. ELF64 (gABI): where its two tables of headers begin, and their sizes.
    if len(image) >= _HEADER.size:
        segments, sections, *sizes = _HEADER.unpack_from(image)
        if max(segments + sizes[0] * sizes[1], sections + sizes[2] * sizes[3]) <= len(image):
            return image
    raise ToolchainError("run", f"the cubin that ptxas wrote into {os.path.dirname(work)} ends early: is that full?")


_HEADER = struct.Struct("<32x 2Q 6x 4H 2x")


@contextmanager
def _folder() -> Iterator[str]:
    """Make a folder for the files of one run and remove it after the run; in memory if possible: disks are slow."""
    if not _has_room():
        import tempfile  # imported here: it takes 5 ms, and few machines need it

        with tempfile.TemporaryDirectory(prefix="cutelite-") as folder:
            yield folder
        return
    folder = f"{_MEMORY}/cutelite-{os.urandom(8).hex()}"
    os.mkdir(folder, 0o700)
    try:
        yield folder
    finally:
        for name in os.listdir(folder):
            os.unlink(f"{folder}/{name}")
        os.rmdir(folder)


def _has_room() -> bool:
    try:
        there = os.statvfs(_MEMORY)
    except OSError:
        return False
    return there.f_bavail * there.f_frsize >= _ROOM and os.access(_MEMORY, os.W_OK)


def _run(command: list[str], meanwhile: Callable[[], None] | None = None) -> running.Ran:
    try:
        return running.run(command, _FEW_PAGES, meanwhile)
    except OSError as error:
        raise ToolchainError("run", f"cannot run {command[0]}: {error}") from error


def refused(stage: str, said: str, ptx: str) -> ToolchainError:
    """Return the error for PTX that an assembler refused, with the lines that it names."""
    complaints = re.sub(r"^ptxas info .*\n?", "", said, flags=re.MULTILINE)
    return ToolchainError(stage, complaints, excerpt(ptx, complaints, r"line (\d+); *(?:error|fatal)"))


def version(program: str) -> str:
    """Return the version that ptxas reports, such as `13.0.88`. Errors: `ToolchainError` if it does not run."""
    try:
        return _version(program, os.stat(program).st_mtime_ns)
    except OSError as error:
        raise ToolchainError("run", f"cannot run {program}: {error}") from error


@functools.cache
def _version(program: str, changed: int) -> str:
    """Run `program` for its version, once for each time of change of its file."""
    ran = _run([program, "--version"])
    if ran.status != 0:
        raise ToolchainError("run", f"cannot run {program}: exit status {ran.status}: {ran.said}")
    found = re.search(r"V(\d+\.\d+\.\d+)", ran.said)
    if not found:
        raise ToolchainError("run", f"{program} is not ptxas: it calls itself {ran.said.strip()[:200]}")
    return found[1]
