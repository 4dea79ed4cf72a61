"""The log of an assembler -> numbers and warnings. ptxas, nvJitLink and the driver write it in the same form.

ptxas info    : (C7508) Potential Performance Loss: 'setmaxnreg' ignored; unable to determine register count ...
ptxas info    : Function properties for gemm
    0 bytes stack frame, 0 bytes spill stores, 0 bytes spill loads
ptxas info    : Used 168 registers, used 1 barriers, 1024 bytes smem
"""

from __future__ import annotations

import re

from cutelite.tuples import NamedTuple


class Usage(NamedTuple):
    """The resources that a kernel uses."""

    registers: int
    """32-bit registers per thread."""
    stack_frame: int
    """Local memory per thread, in bytes: spills, and register tensors that are indexed at run time."""
    spill_stores: int
    """Bytes stored per thread because registers ran out; 0 from the driver, whose log has only the stack frame."""
    spill_loads: int
    smem_static: int
    """Shared memory declared in the code, bytes per block; the launcher's dynamic shared memory is added to it."""
    barriers: int
    """Named barriers."""


class ToolWarning(NamedTuple):
    """One warning, with the assembler's number for it if it has one.

    C7504  `setmaxnreg` is ignored; nvJitLink always does so, since it compiles a kernel as a part of something to link
    C7508  `setmaxnreg` is ignored: the register count at entry is unknown (`minctasm`, or a register cap, gives one)
    C7510  wgmmas are serialised; the message gives the reason
    C7517  a wait is inserted after a wgmma, because its result is used too early
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
"""The fields of `Usage`, by the text that follows their number in the log."""


def usage(log: str) -> Usage | None:
    """Return the resources reported in `log`, for each the most of any kernel; None if it reports none."""
    found: dict[str, int] = {}
    for line in log.splitlines():  # without regular expressions, which take 1 ms to compile
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
    """Return the lines marked as warnings and the numbered lines marked as information, in order, each once."""
    if "warning" not in log and "(C" not in log:
        return ()
    found = re.findall(r"^ptxas (warning|info)\s*: *(?:\((C\d+)\) *)?(.*)$", log, re.MULTILINE)
    return tuple(
        dict.fromkeys(ToolWarning(code, text.strip()) for mark, code, text in found if mark == "warning" or code)
    )
