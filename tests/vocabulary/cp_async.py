"""Asynchronous copies of bytes."""

from functools import partial

from cutelite.ir.types import SCALARS, Ptr, f32, i32, u16, u32, u64
from cutelite.ops import cp_async
from tests.vocabulary import row
from tests.vocabulary.places import BAR, GMEM, REMOTE, SMEM
from tests.vocabulary.row import of

Row = partial(row.Row, alone=True, tested="tests/sim/test_async.py")
HOPPER = "tests/hopper/test_copies.py"

ROWS = [
    Row(
        cp_async.CreatePolicy,
        "cl.createpolicy",
        [of(primary, 0.5, "evict_first") for primary in cp_async.PRIORITIES],
        refuses=[(of("evict"), "`primary` of .* is 'evict', but must"), (of("evict_last", 1.5), "the fraction is 1.5")],
        tested=HOPPER,
    ),
    Row(
        cp_async.CreatePolicyRange,
        "cl.createpolicy_range",
        [of(GMEM, i32, u32, primary, "evict_first") for primary in cp_async.PRIORITIES],
        refuses=[
            (of(SMEM, i32, i32, "evict_last"), "in this block's shared memory, but must be in global"),
            (of(GMEM, u64, i32, "evict_last"), "is u64, but must be i32 or u32"),
            (of(GMEM, i32, i32, "evict_last", "evict_normal"), "`secondary` of .* is 'evict_normal', but must"),
        ],
        tested=HOPPER,
    ),
    Row(
        cp_async.CreatePolicyCvt,
        "cl.createpolicy_cvt",
        [of(u64)],
        refuses=[(of(u32), "is u32, but must be u64")],
        tested=HOPPER,
    ),
    Row(
        cp_async.CpAsyncBulkMasked,
        "cl.cp_async_bulk",
        [of(GMEM, SMEM, i32, u16), of(GMEM, SMEM, u32, u16, u64)],
        refuses=[
            (of(SMEM, GMEM, i32, u16), "but must be in global memory"),
            (of(GMEM, SMEM, i32, u32), "is u32, but must be u16"),
        ],
        tested=HOPPER,
    ),
    Row(
        cp_async.CpAsync,
        "cl.cp_async",
        [
            *(of(SMEM, GMEM, size) for size in (4, 8, 16)),
            of(SMEM, GMEM, 16, "cg", src_bytes=i32),
            of(SMEM, GMEM, 16, "cg", 256, i32, u64),
        ],
        refuses=[
            (of(SMEM, GMEM, 12), "`bytes` of .* is 12, but must"),
            (of(SMEM, GMEM, 8, "cg"), "cp.async.cg copies 16 bytes, not 8"),
            (of(Ptr("smem", 8), GMEM, 16), "a multiple of 16 bytes, but is only known .* of 8"),
            (of(GMEM, SMEM, 16), "in global memory, but must be in this block's shared"),
            (of(SMEM, GMEM, 4, prefetch=32), "`prefetch` of .* is 32, but must"),
        ],
    ),
    Row(cp_async.CpAsyncCommitGroup, "cl.cp_async_commit_group", [of()]),
    Row(cp_async.CpAsyncWaitGroup, "cl.cp_async_wait_group", [of(3)], refuses=[(of(-1), "from 0 on, not -1")]),
    Row(cp_async.CpAsyncWaitAll, "cl.cp_async_wait_all", [of()]),
    Row(
        cp_async.CpAsyncMbarrierArrive, "cl.Barrier.arrive_after_copies", [of(BAR, False), of(BAR, True)], tested=HOPPER
    ),
    Row(
        cp_async.CpAsyncBulk,
        "cl.cp_async_bulk",
        [
            of(SMEM, GMEM, i32, BAR),
            of(SMEM, GMEM, i32, BAR, u16, u64),
            of(REMOTE, SMEM, u32, REMOTE),
            of(GMEM, SMEM, u32),
            of(GMEM, SMEM, u32, policy=u64),
        ],
        refuses=[
            (of(SMEM, GMEM, i32), "needs an mbarrier"),
            (of(GMEM, SMEM, i32, BAR), "ends in a bulk group"),
            (of(GMEM, GMEM, i32), "cannot copy from ptr<gmem,128> to ptr<gmem,128>"),
            (of(REMOTE, SMEM, i32, BAR), "must be in the cluster's shared"),
            (of(REMOTE, SMEM, i32, REMOTE, u16), "can be multicast"),
        ],
    ),
    Row(
        cp_async.CpReduceAsyncBulk,
        "cl.cp_reduce_async_bulk",
        [of(kind, SCALARS[name], GMEM, SMEM, u32) for kind, names in cp_async.REDUCTIONS.items() for name in names],
        refuses=[(of("min", f32, GMEM, SMEM, i32), "a bulk min does not take f32")],
        tested=HOPPER,
    ),
    Row(cp_async.CpAsyncBulkPrefetch, "cl.cp_async_bulk_prefetch", [of(GMEM, u32, u64)], tested=HOPPER),
    Row(cp_async.CpAsyncBulkCommitGroup, "cl.cp_async_bulk_commit_group", [of()]),
    Row(cp_async.CpAsyncBulkWaitGroup, "cl.cp_async_bulk_wait_group", [of(1), of(0, read=True)]),
]
