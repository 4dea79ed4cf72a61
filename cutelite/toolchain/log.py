"""The log of an assembler -> numbers and warnings. ptxas, nvJitLink and the driver share the code that writes it.

ptxas info    : (C7508) Potential Performance Loss: 'setmaxnreg' ignored; unable to determine register count ...
ptxas info    : Function properties for gemm
    0 bytes stack frame, 0 bytes spill stores, 0 bytes spill loads
ptxas info    : Used 168 registers, used 1 barriers, 1024 bytes smem
"""

from __future__ import annotations

import re

from cutelite.tuples import NamedTuple


class Usage(NamedTuple):
    """Resources of a kernel."""

    registers: int
    """32-bit registers per thread."""
    stack_frame: int
    """Local memory per thread, bytes: spills and whatever is indexed at run time."""
    spill_stores: int
    """Bytes stored per thread because registers ran out; 0 of the driver, whose log has the stack frame alone."""
    spill_loads: int
    smem_static: int
    """Shared memory declared in the code, bytes per block; what the launcher asks for comes on top."""
    barriers: int
    """Named barriers."""


class ToolWarning(NamedTuple):
    """One warning, with the assembler's number for it where it has one.

    C7504  `setmaxnreg` is ignored, as nvJitLink always does: it takes the kernel for a part of something to be linked
    C7508  `setmaxnreg` is ignored: there is no register count at entry (`minctasm`, or a register cap, gives one)
    C7510  wgmma are serialised, for a reason that the message gives
    C7517  a wait is put after a wgmma, whose result is used too early
    """

    code: str
    message: str


def usage(log: str) -> Usage | None:
    """Return the resources that `log` tells, the most over its kernels; None if it tells none."""
    registers = _numbers(log, r"[Uu]sed (\d+) registers")
    if not registers:
        return None
    return Usage(
        registers=max(registers),
        stack_frame=max(_numbers(log, r"(\d+) (?:bytes stack frame|stack,)"), default=0),
        spill_stores=max(_numbers(log, r"bytes stack frame, (\d+) bytes spill stores"), default=0),
        spill_loads=max(_numbers(log, r"spill stores, (\d+) bytes spill loads"), default=0),
        smem_static=max(_numbers(log, r"[Uu]sed .*?(\d+) bytes smem"), default=0),
        barriers=max(_numbers(log, r"used (\d+) barriers"), default=0),
    )


def warnings(log: str) -> tuple[ToolWarning, ...]:
    """Return lines marked as warnings, and numbered ones marked as information, in order and each once."""
    found = re.findall(r"^ptxas (warning|info)\s*: *(?:\((C\d+)\) *)?(.*)$", log, re.MULTILINE)
    return tuple(
        dict.fromkeys(ToolWarning(code, text.strip()) for mark, code, text in found if mark == "warning" or code)
    )


def _numbers(log: str, pattern: str) -> list[int]:
    return [int(number) for number in re.findall(pattern, log)]
