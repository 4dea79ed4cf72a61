"""Logs of the values that all ops of a kernel produce, one for each thread, to compare them with the simulator's.

Before a launch the host writes five 64-bit numbers to `@cutelite_records` (`dispatch/records.py`): the address of the
logs, the number of blocks that they have room for, the first byte to keep, the number of bytes to keep, and the size of
a log in bytes. A thread counts the bytes of all its records, and writes those records that begin in the window of bytes
to keep. So several launches, each with the next window, give any number of values.

A record is its op's number + 1, and then the value's elements, each in one or two 32-bit words.
"""

from __future__ import annotations

from typing import Any

from cutelite.ir.function import Function
from cutelite.ir.types import elem_of
from cutelite.lower.types import leaf
from cutelite.lower.writer import Writer
from cutelite.ops.debug import record_words

GLOBAL = "@cutelite_records = addrspace(1) externally_initialized global [5 x i64] zeroinitializer, align 16"

AT_ONCE = 24
"""The most words of a record that one piece of assembly writes."""

_BEGIN = (
    "{ .reg .pred on; .reg .b32 b, w, x, y; .reg .b64 n, t, u; "
    "mov.u32 b, %ctaid.z; mov.u32 x, %nctaid.y; mov.u32 y, %ctaid.y; mad.lo.u32 b, b, x, y; "
    "mov.u32 x, %nctaid.x; mov.u32 y, %ctaid.x; mad.lo.u32 b, b, x, y; cvt.u64.u32 n, b; "
    "mov.u32 w, %tid.z; mov.u32 y, %tid.y; mad.lo.u32 w, w, BLOCK_Y, y; "
    "mov.u32 y, %tid.x; mad.lo.u32 w, w, BLOCK_X, y; "
    "ld.global.b64 t, [$3+8]; setp.lt.u64 on, n, t; "  # blocks that do not fit keep nothing
    "cvt.u64.u32 u, w; mad.lo.u64 u, n, THREADS, u; ld.global.b64 t, [$3+32]; mul.lo.u64 u, u, t; "
    "ld.global.b64 t, [$3]; add.u64 u, u, t; ld.global.b64 $1, [$3+16]; sub.u64 $0, u, $1; "
    "ld.global.b64 t, [$3+24]; add.u64 t, t, $1; selp.b64 $2, t, 0, on; }"
)


def begin(w: Writer, function: Function, note: str) -> None:
    """Write the start of a kernel that keeps its values: the registers that hold the log's place and window."""
    x, y, z = function.attrs["block"]
    w.recorded = True
    text = _BEGIN.replace("BLOCK_X", str(x)).replace("BLOCK_Y", str(y)).replace("THREADS", str(x * y * z))
    operands = '"=&l,=&l,=&l,l"(ptr addrspace(1) @cutelite_records)'
    w.entry += [
        "  %records.at = alloca [8 x i8], align 8",
        f'  %records = call {{ i64, i64, i64 }} asm sideeffect "{text}", {operands}{note}',
        "  %records.log = extractvalue { i64, i64, i64 } %records, 0",
        "  %records.first = extractvalue { i64, i64, i64 } %records, 1",
        "  %records.end = extractvalue { i64, i64, i64 } %records, 2",
        "  store i64 0, ptr %records.at",
    ]


def record(w: Writer, op: Any) -> None:
    """Write a record to the thread's log, if it begins in the window of bytes to keep."""
    if not w.recorded:
        return
    words = [str(op.number + 1)]
    for name in w.elements(op.value):
        words += _words(w, name, leaf(op.value.type), elem_of(op.value.type).bits)
    here = w.define("load i64, ptr %records.at")
    w.line(f"store i64 {w.define(f'add i64 {here}, {4 * record_words(op.value.type)}')}, ptr %records.at")
    for first in range(0, len(words), AT_ONCE):
        part = words[first : first + AT_ONCE]
        stores = "".join(f"@p st.global.b32 [a+{4 * (first + i)}], ${4 + i}; " for i in range(len(part)))
        text = (
            "{ .reg .pred p; .reg .b64 a; setp.ge.u64 p, $0, $2; setp.lt.and.u64 p, $0, $3, p; "
            f"add.u64 a, $0, $1; {stores}}}"
        )
        values = "".join(f", i32 {word}" for word in part)
        w.line(
            f'call void asm sideeffect "{text}", "l,l,l,l{",r" * len(part)}"'
            f"(i64 {here}, i64 %records.log, i64 %records.first, i64 %records.end{values})"
        )


def _words(w: Writer, name: str, t: str, bits: int) -> list[str]:
    """Return the names of the i32 that hold the bits of an element."""
    if t == "i1":
        return [w.define(f"zext i1 {name} to i32")]
    whole = f"i{bits}"
    if t != whole:
        name = w.define(f"bitcast {t} {name} to {whole}")
    if bits == 64:
        high = w.define(f"lshr i64 {name}, 32")
        return [w.define(f"trunc i64 {part} to i32") for part in (name, high)]
    return [name] if bits == 32 else [w.define(f"zext {whole} {name} to i32")]
