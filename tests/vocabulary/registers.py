"""The number of a warpgroup's registers, and the lane that acts for a warp."""

from functools import partial

from cutelite.ir.types import u32
from cutelite.ops import registers
from tests.vocabulary import row
from tests.vocabulary.row import of

Row = partial(row.Row, alone=True, tested="tests/hopper/test_cluster.py")

ROWS = [
    Row(
        registers.SetMaxNRegInc,
        "cl.setmaxnreg_inc",
        [of(240)],
        refuses=[(of(100), "a multiple of 8 from 24 to 256, not 100")],
    ),
    Row(
        registers.SetMaxNRegDec,
        "cl.setmaxnreg_dec",
        [of(24)],
        refuses=[(of(16), "a multiple of 8 from 24 to 256, not 16")],
    ),
    Row(registers.Elect, "cl.elect_sync, cl.elect_one", [of(u32)]),
]
