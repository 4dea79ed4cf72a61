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


_COUNTED = {
    "registers": "registers",
    "bytes stack frame": "stack_frame",
    "stack": "stack_frame",
    "bytes spill stores": "spill_stores",
    "bytes spill loads": "spill_loads",
    "bytes smem": "smem_static",
    "barriers": "barriers",
}
"""The text that follows a number in the log -> the field of `Usage` for the number."""


def usage(log: str) -> Usage | None:
    """Return the resources that `log` tells, the most over its kernels; None if it tells none."""
    found: dict[str, int] = {}
    for line in log.splitlines():  # without regular expressions: these took 1 ms to be made
        for part in line.replace(":", ",").split(","):
            words = part.split()
            while words and not words[0].isdigit():  # "Used 168 registers"
                del words[0]
            what = " ".join(words[1:])
            if what in _COUNTED:
                field = _COUNTED[what]
                found[field] = max(int(words[0]), found.get(field, 0))
    return Usage(**dict.fromkeys(Usage._fields, 0) | found) if "registers" in found else None


def warnings(log: str) -> tuple[ToolWarning, ...]:
    """Return lines marked as warnings, and numbered ones marked as information, in order and each once."""
    if "warning" not in log and "(C" not in log:
        return ()
    found = re.findall(r"^ptxas (warning|info)\s*: *(?:\((C\d+)\) *)?(.*)$", log, re.MULTILINE)
    return tuple(
        dict.fromkeys(ToolWarning(code, text.strip()) for mark, code, text in found if mark == "warning" or code)
    )
