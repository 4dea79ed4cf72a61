"""Plain loads and stores."""

from cutelite.ir.types import i32
from cutelite.ops import memory
from tests.vocabulary.row import Row, of

TESTED = "tests/sim/test_memory.py"

ROWS = [
    Row(memory.PtrAdd, "t.at(i, j)", case="pointers", tested=TESTED),
    Row(
        memory.PtrFromAddress,
        "ps[i] of an array of pointers",
        case="pointers",
        tested="tests/dispatch/test_pointer_arrays.py",
        refuses=[(of(i32, align=4), "an address is an i64, not i32")],
    ),
    Row(
        memory.PtrRest,
        "cl.aligned_down",
        case="pointers",
        tested="tests/lib/test_rows.py",
        refuses=[(of(i32, divisor=4), "ptr.rest takes a pointer, not i32")],
    ),
    Row(memory.PtrSwizzle, "an element of a swizzled tensor", case="pointers", tested=TESTED),
    Row(
        memory.Load,
        "t[i, j], t.load()",
        shown="ptr<gmem,16> type=i8; ptr<gmem,16> type=i16 evict='evict_first'; ptr<gmem,16> type=i32 cache='cg'; "
        "ptr<gmem,16> type=i64 cache='nc'; ptr<gmem,16> type=bool cache='nc' evict='evict_first'; "
        "ptr<gmem,16> type=vec<bf16,2> evict='evict_first'; ptr<gmem,16> type=vec<bf16,8> cache='cg'; "
        "ptr<gmem,16> type=vec<u8,2> cache='nc'; ptr<gmem,16> type=f32 prefetch=128; "
        "ptr<gmem,16> type=i32 cache='nc' evict='evict_first' prefetch=256",
        tested=TESTED,
    ),
    Row(
        memory.Store,
        "t[i, j] = x, t.store(x)",
        shown="ptr<gmem,16> i8; ptr<gmem,16> vec<bf16,4>; ptr<gmem,16> i8 evict='evict_first'; "
        "ptr<gmem,16> i8 cache='cg'",
        tested=TESTED,
    ),
]
