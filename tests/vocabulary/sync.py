"""Barriers of a block, fences of memory, and sleep."""

from cutelite.ir.types import boolean, f32, i32, u32
from cutelite.ops import sync
from tests.vocabulary.row import Row, of

TOGETHER = "tests/ops/test_ops_together.py"
REDUCED = ("and", "or", "popc")

ROWS = [
    Row(
        sync.BarSync,
        "cl.syncthreads, cl.barrier_sync",
        [
            form
            for aligned in (True, False)
            for form in (of(aligned=aligned), of(3, 64, aligned=aligned), of(0, 64, i32, aligned))
        ],
        tested=TOGETHER,
        shown=" ; aligned=False; count=64 number=i32; count=64 number=i32 aligned=False; id=1; id=1 aligned=False",
        refuses=[
            (of(16), "`id` of .* is 16, but must"),
            (of(1, 48), "a multiple of 32 threads up to 1024, not 48"),
            (of(number=i32), "a barrier that is known only at run time needs its number of threads"),
        ],
    ),
    Row(
        sync.BarArrive,
        "cl.barrier_arrive",
        [form for aligned in (True, False) for form in (of(3, 64, aligned=aligned), of(0, 64, i32, aligned))],
        tested=TOGETHER,
        shown="count=64 number=i32; count=64 number=i32 aligned=False",
        refuses=[(of(1), "bar.arrive needs the number of threads")],
    ),
    Row(
        sync.BarRed,
        "cl.syncthreads_count, cl.syncthreads_and, cl.syncthreads_or",
        [form for how in REDUCED for form in (of(a=boolean, operation=how), of(0, 32, i32, boolean, how))],
        tested=TOGETHER,
        shown="; ".join(f"{where}a=bool operation='{how}'" for where in ("", "count=64 number=i32 ") for how in REDUCED)
        + "; id=1 a=bool operation='and'; id=1 a=bool operation='or'",
        refuses=[(of(a=boolean, operation="xor"), "`operation` of .* is 'xor', but must")],
    ),
    Row(
        sync.Fence,
        "cl.fence",
        [of(semantic, scope) for semantic in sync.FENCES for scope in sync.SCOPES],
        tested=TOGETHER,
        shown=" ; scope_of_order='cta'; scope_of_order='cluster'; semantic='acquire'; "
        "semantic='acquire' scope_of_order='sys'; semantic='acquire' scope_of_order='cluster'; "
        "semantic='release' scope_of_order='cta'; semantic='release' scope_of_order='sys'",
        refuses=[
            (of("relaxed"), "`semantic` of .* is 'relaxed', but must"),
            (of("sc", "warp"), "`scope` of .* is 'warp', but must"),
        ],
    ),
    Row(
        sync.Nanosleep,
        "cl.nanosleep",
        [of(u32), of(i32)],
        shown="i32",
        tested=TOGETHER,
        refuses=[(of(f32), "`ns` of nanosleep is f32")],
    ),
]
