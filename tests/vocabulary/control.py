"""Terminators of blocks."""

from cutelite.ops import control
from tests.vocabulary.row import Row

FLOW = "tests/sim/test_control_flow.py"

ROWS = [
    Row(control.Br, "while, for", case="control", tested=FLOW),
    Row(control.CondBr, "if", case="control", tested=FLOW),
    Row(control.Ret, "return", case="control", tested=FLOW),
    Row(
        control.Unreachable,
        "nothing: behind what does not return",
        case="reports",
        tested="tests/ops/test_ops_debug.py",
    ),
    Row(control.AssertFail, "cl.assert_", case="reports", tested="tests/ops/test_ops_debug.py"),
]
