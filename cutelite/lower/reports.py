"""Reports of a running kernel to the host: `printf`, and assertions that stop it.

Both are functions of the driver (CUDA C++ Programming Guide: formatted output, assertion).
"""

from __future__ import annotations

from typing import Any

from cutelite.ir.function import Value
from cutelite.ir.types import Ptr, Scalar
from cutelite.lower.types import leaf
from cutelite.lower.writer import Writer

VPRINTF = "declare i32 @vprintf(ptr, ptr)"
ASSERTFAIL = "declare void @__assertfail(ptr, ptr, i32, ptr, i64) #5"


def string(w: Writer, text: str) -> str:
    """Return a generic pointer to `text`, zero-terminated."""
    octets = text.encode(errors="backslashreplace") + b"\0"  # of undecoded bytes in names of files
    spelled = "".join(chr(c) if 32 <= c < 127 and c not in b'"\\' else f"\\{c:02X}" for c in octets)
    constant = f'private unnamed_addr addrspace(1) constant [{len(octets)} x i8] c"{spelled}"'
    name = w.globals.setdefault(constant, f"@text{len(w.globals)}")
    return f"addrspacecast (ptr addrspace(1) {name} to ptr)"


def assert_fail(w: Writer, op: Any) -> None:
    """Write a failure: the driver prints the message with file, line, function, block and thread; the launch ends."""
    if op.args:  # the driver's message is a constant: what has numbers in it is printed before
        _print(w, f"{op.message}\n", op.args)
    w.declared[ASSERTFAIL] = None
    span = op.span
    file, line, function = (span.filename, span.line, span.function) if span else ("<unknown>", 0, "")
    message, where, who = (string(w, text) for text in (op.message, file, function))
    w.line(f"call void @__assertfail(ptr {message}, ptr {where}, i32 {line}, ptr {who}, i64 1)")
    w.line("unreachable")


def printf(w: Writer, op: Any) -> None:
    """Write a call that prints."""
    _print(w, op.fmt, op.args)


def _print(w: Writer, fmt: str, values: tuple[Value, ...]) -> None:
    """Write a call of vprintf. Arguments go through local memory, promoted to f64, i32 or i64 as C does for `...`."""
    w.declared[VPRINTF] = None
    promoted = [_promoted(w, value) for value in values]
    places, size = [], 0
    for t, _ in promoted:
        bytes = 4 if t == "i32" else 8
        size = -(-size // bytes) * bytes
        places.append(size)
        size += bytes
    args = "null"
    if promoted:
        name = w.local(size, 8)
        for (t, value), place in zip(promoted, places, strict=True):
            at = w.define(f"getelementptr i8, ptr addrspace(5) {name}, i32 {place}")
            w.line(f"store {t} {value}, ptr addrspace(5) {at}, align {4 if t == 'i32' else 8}")
        args = w.define(f"addrspacecast ptr addrspace(5) {name} to ptr")
    w.define(f"call i32 @vprintf(ptr {string(w, fmt)}, ptr {args})")


def _promoted(w: Writer, value: Value) -> tuple[str, str]:
    name, held = w.one(value), leaf(value.type)
    match value.type:
        case Scalar(kind="float"):
            return "double", name if held == "double" else w.define(f"fpext {held} {name} to double")
        case Scalar(bits=bits, kind=kind) if bits < 32:
            return "i32", w.define(f"{'sext' if kind == 'int' else 'zext'} {held} {name} to i32")
        case Ptr():
            return "i64", w.define(f"ptrtoint {held} {name} to i64")
    return held, name
