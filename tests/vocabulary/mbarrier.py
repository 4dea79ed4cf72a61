"""Barriers in shared memory that count arrivals and bytes."""

from dataclasses import replace
from functools import partial

from cutelite.ir.types import Ptr, boolean, f32, i32, u32, u64
from cutelite.ops import mbarrier
from tests.vocabulary import row
from tests.vocabulary.places import BAR, REMOTE, SMEM
from tests.vocabulary.row import of

Row = partial(row.Row, alone=True, tested="tests/sim/test_mbarriers.py")
HOPPER = "tests/hopper/test_mbarriers.py"
HOW = [{"reach": reach, "relaxed": relaxed} for reach in ("cta", "cluster") for relaxed in (False, True)]
ARRIVALS = [of(BAR, u32, **how) for how in HOW]
WAITS = [of(BAR, phase, **how) for how in HOW for phase in (i32, u64)]

ROWS = [
    Row(
        mbarrier.Init,
        "cl.Barrier.init",
        [of(BAR, i32)],
        refuses=[
            (of(SMEM, f32), "`count` of mbarrier.init is f32, but must be i32 or u32"),
            (of(Ptr("smem", 4), i32), "a multiple of 8 bytes, but is only known to be one of 4"),
            (of(replace(BAR, elem=u64), i32), "a tensor of u64, but must be one of mbarrier"),
            (of(REMOTE, i32), "in the cluster's shared memory, but must be in this block's"),
        ],
    ),
    Row(mbarrier.Inval, "cl.Barrier.inval", [of(BAR)]),
    Row(mbarrier.Arrive, "cl.Barrier.arrive", [of(BAR), of(REMOTE), of(REMOTE, i32), *ARRIVALS]),
    Row(mbarrier.ArriveDrop, "cl.Barrier.arrive_drop", ARRIVALS),
    Row(mbarrier.ArriveExpectTx, "cl.Barrier.arrive_expect_tx", [*ARRIVALS, of(REMOTE, i32)]),
    Row(mbarrier.ArriveNoComplete, "", [of(BAR, i32)]),
    Row(mbarrier.ExpectTx, "cl.Barrier.expect_tx", [of(BAR, i32), of(REMOTE, i32)]),
    Row(mbarrier.CompleteTx, "cl.Barrier.complete_tx", [of(BAR, i32), of(REMOTE, i32)]),
    Row(mbarrier.TestWait, "cl.Barrier.test_wait", WAITS),
    Row(mbarrier.TryWait, "cl.Barrier.try_wait", [*WAITS, of(BAR, i32, hint_ns=u32)], tested=HOPPER),
    Row(
        mbarrier.Wait,
        "cl.Barrier.wait",
        WAITS,
        refuses=[
            (of(BAR, boolean), "`phase` of mbarrier.wait is bool"),
            (of(BAR, i32, "gpu"), "`reach` of .* is 'gpu', but must"),
        ],
    ),
    Row(mbarrier.PendingCount, "cl.mbarrier_pending_count", [of(u64)]),
    Row(mbarrier.FenceMbarrierInit, "cl.fence_mbarrier_init", [of()], tested=HOPPER),
]
