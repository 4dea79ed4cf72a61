"""Profiles of a kernel: each thread that writes events has a ring of them in global memory.

Before a launch the host writes to `@cutelite_profile` the address of a buffer and the number of blocks that fit into it
(`dispatch/profiling.py`). A warp has `2 * RING` bytes of the buffer. The first half is the ring of its first lane,
which usually speaks for the warp; the second half has `LANE` bytes for each lane. Lane 0 has no second ring: its bytes
hold the clock and the nanoseconds at the start and at the end, the SM, and a 1 that says that the warp has run.

An event is 8 bytes: the lower half of the clock, and 2 bits of phase, 10 of name, 20 of value. The thread keeps in four
registers: the address of its next event, the mask of its ring, the mask of the lanes before it, and the address of the
warp's bytes. Of the threads that are active at an event, the first writes. If the host has written no address, each
thread's mask has every lane: no thread is the first, and nothing is written.
"""

from __future__ import annotations

from typing import Any

from cutelite.ir.function import Function
from cutelite.lower.writer import Writer
from cutelite.ops.debug import MARK_VALUES, PHASES, mark_names

RING = 1 << 14
"""Bytes of the ring of a warp's first lane: 2048 events."""

LANE = RING // 32
"""Bytes of the ring of another lane: 64 events."""

GLOBAL = "@cutelite_profile = addrspace(1) externally_initialized global [2 x i64] zeroinitializer, align 16"


def _time(at: int) -> str:
    """Return PTX in which the thread `first` writes the clock and the nanoseconds at offset `at`."""
    return (
        f"mov.u64 t, %clock64; @first st.global.b64 [p+{at}], t; "
        f"mov.u64 t, %globaltimer; @first st.global.b64 [p+{at + 8}], t; "
    )


_BEGIN = (
    "{ .reg .pred on, zero, first; .reg .b32 b, w, x, y; .reg .b64 p, t; "
    "mov.u32 b, %ctaid.z; mov.u32 x, %nctaid.y; mov.u32 y, %ctaid.y; mad.lo.u32 b, b, x, y; "
    "mov.u32 x, %nctaid.x; mov.u32 y, %ctaid.x; mad.lo.u32 b, b, x, y; "
    "ld.global.v2.b64 {p, t}, [$4]; cvt.u32.u64 x, t; min.u32 b, b, x; "  # blocks that do not fit share the last place
    "mov.u32 w, %tid.z; mov.u32 y, %tid.y; mad.lo.u32 w, w, BLOCK_Y, y; "
    "mov.u32 y, %tid.x; mad.lo.u32 w, w, BLOCK_X, y; "
    "and.b32 x, w, 31; shr.u32 w, w, 5; mad.lo.u32 b, b, WARPS, w; mul.wide.u32 t, b, WARP; "
    "setp.ne.u64 on, p, 0; setp.eq.u32 zero, x, 0; and.pred first, zero, on; add.u64 p, p, t; "
    + _time(RING)
    + "mov.u32 y, %smid; @first st.global.b32 [p+RING+32], y; mov.u32 y, 1; @first st.global.b32 [p+RING+36], y; "
    "mad.lo.u32 x, x, LANE, RING; selp.b32 x, 0, x, zero; cvt.u64.u32 t, x; add.u64 $0, p, t; "
    "selp.b32 $1, RING_MASK, LANE_MASK, zero; mov.u32 y, %lanemask_lt; selp.b32 $2, y, -1, on; mov.u64 $3, p; }"
)

_EVENT = (
    "{ .reg .pred first; .reg .b32 a, t, lo, hi; activemask.b32 a; and.b32 a, a, $3; setp.eq.b32 first, a, 0; "
    "mov.u32 t, %clock; @first st.global.v2.b32 [$1], {t, $2}; "
    "mov.b64 {lo, hi}, $1; add.u32 t, lo, 8; lop3.b32 lo, t, lo, $4, 0xE4; mov.b64 $0, {lo, hi}; }"
)

_END = f"{{ .reg .pred first; .reg .b64 p, t; setp.eq.b32 first, $1, 0; mov.u64 p, $0; {_time(RING + 16)}}}"


def begin(w: Writer, function: Function, note: str) -> None:
    """Write the start of a kernel that is profiled: the four registers, and the first times."""
    x, y, z = function.attrs["block"]
    numbers = {
        "BLOCK_X": x, "BLOCK_Y": y, "WARPS": -(-x * y * z // 32), "WARP": 2 * RING, "RING_MASK": RING - 1,
        "LANE_MASK": LANE - 1, "RING": RING, "LANE": LANE,
    }  # fmt: skip
    w.profiled, w.marks = True, mark_names(function.ops())
    text = _BEGIN
    for name, number in numbers.items():
        text = text.replace(name, str(number))
    operands = '"=&l,=&r,=&r,=&l,l"(ptr addrspace(1) @cutelite_profile)'
    w.entry += [
        "  %profile.cursor = alloca [8 x i8], align 8",
        f'  %profile = call {{ i64, i32, i32, i64 }} asm sideeffect "{text}", {operands}{note}',
        "  %profile.start = extractvalue { i64, i32, i32, i64 } %profile, 0",
        "  %profile.mask = extractvalue { i64, i32, i32, i64 } %profile, 1",
        "  %profile.below = extractvalue { i64, i32, i32, i64 } %profile, 2",
        "  %profile.warp = extractvalue { i64, i32, i32, i64 } %profile, 3",
        "  store i64 %profile.start, ptr %profile.cursor",
    ]


def mark(w: Writer, op: Any) -> None:
    """Write an event to the ring, and advance in the ring. Writes nothing in a kernel that is not profiled."""
    if not w.profiled:
        return
    head = (PHASES.index(op.phase) + 1) << 30 | w.marks.index(op.label) << 20
    head -= (head >> 31) << 32  # as a signed number
    payload = str(head)
    if op.value:
        kept = w.define(f"and i32 {w.one(op.value[0])}, {MARK_VALUES - 1}")
        payload = w.define(f"or i32 {kept}, {head}")
    here = w.define("load i64, ptr %profile.cursor")
    after = w.define(
        f'call i64 asm sideeffect "{_EVENT}", "=l,l,r,r,r"'
        f"(i64 {here}, i32 {payload}, i32 %profile.below, i32 %profile.mask)"
    )
    w.line(f"store i64 {after}, ptr %profile.cursor")


def end(w: Writer, op: Any) -> None:
    """Write the time at which the warp ends."""
    w.line(f'call void asm sideeffect "{_END}", "l,r"(i64 %profile.warp, i32 %profile.below)')
