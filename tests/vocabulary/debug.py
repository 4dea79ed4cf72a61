"""Prints and traps."""

from cutelite.ir.types import Ptr, bf16, f32, i32, i64, u8
from cutelite.ops import debug
from tests.vocabulary.row import Row, of

PRINTED = "%% %d %5.2f %llx %u %p %g\n"
TESTED = "tests/ops/test_ops_debug.py"

ROWS = [
    Row(
        debug.Printf,
        "cl.printf",
        [of(PRINTED, (i32, f32, i64, u8, Ptr("gmem", 16), bf16)), of("no numbers\n", ())],
        case="reports",
        tested=TESTED,
    ),
    Row(
        debug.ProfileMark,
        "cl.profile.mark",
        [],
        case="events",
        tested="tests/dispatch/test_profiling.py",
    ),
    Row(
        debug.Record,
        "kernel.compare_with_gpu",
        [],
        case="records",
        tested="tests/dispatch/test_by_line.py",
        refuses=[(of(0, "k.py:1: ld", Ptr("gmem", 4)), "ptr<gmem,4> is not recorded")],
    ),
    Row(
        debug.Variable,
        "kernel.options",
        [],
        case="variables",
        tested="tests/lower/test_variables.py",
        refuses=[(of("x", ("[0]",), ()), "1 parts are named for 0 values")],
    ),
    Row(debug.Breakpoint, "breakpoint", [], case="events", tested="tests/sim/test_debugging.py"),
    Row(debug.Trap, "cl.trap", [of()], tested=TESTED),
    Row(debug.Brkpt, "cl.brkpt", [of()], tested=TESTED),
]
