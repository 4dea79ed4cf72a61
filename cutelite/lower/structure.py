"""Ops that become no instruction or assembly: constants, vectors made and taken apart, and the ends of blocks.

Each function here takes the writer and the op. Vectors cost nothing: they are tuples of names.
"""

from __future__ import annotations

from collections.abc import Callable
from importlib import import_module
from typing import Any

from cutelite.ir.op import Op
from cutelite.lower.constants import constant
from cutelite.lower.types import leaf
from cutelite.lower.writer import Writer
from cutelite.ops.tensor import static_cosize, tensor_type


def const(w: Writer, op: Any) -> None:
    w.names[op.result] = constant(op.value, op.type)


def choose(w: Writer, op: Any) -> None:
    """Write a load at a computed address, where the items are a table of parameters, else selects."""
    t, key, wide = leaf(op.result.type), w.one(op.key), max(32, op.key.type.bits)
    if op.key.type.bits < wide:
        key = w.convert("sext" if op.key.type.signed else "zext", key, leaf(op.key.type), f"i{wide}")
    place = w.places.get(op)
    if place is None:
        name = w.one(op.items[0])
        for i, item in enumerate(op.items[1:], 1):
            name = w.define(f"select i1 {w.define(f'icmp eq i{wide} {key}, {i}')}, {t} {w.one(item)}, {t} {name}")
        w.names[op.result] = name
        return
    key = w.define(f"select i1 {w.define(f'icmp ult i{wide} {key}, {len(op.items)}')}, i{wide} {key}, i{wide} 0")
    distance = w.define(f"add i{wide} {w.define(f'mul i{wide} {key}, {place.step}')}, {place.offset}")
    address = w.define(f"getelementptr inbounds i8, ptr %table{place.table.first}, i{wide} {distance}")
    w.names[op.result] = w.define(f"load {t}, ptr {address}")


def vec_make(w: Writer, op: Any) -> None:
    w.names[op.result] = tuple(name for item in op.items for name in w.elements(item))


def vec_splat(w: Writer, op: Any) -> None:
    w.names[op.result] = (w.one(op.a),) * op.n


def vec_undefined(w: Writer, op: Any) -> None:
    w.names[op.result] = ("poison",) * op.n


def vec_gather(w: Writer, op: Any) -> None:
    elements = w.elements(op.a)
    picked = tuple(elements[pick] for pick in op.picks)
    w.names[op.result] = picked[0] if op.scalar else picked


def vec_put(w: Writer, op: Any) -> None:
    elements = list(w.elements(op.a))
    for place, name in zip(op.places, w.elements(op.b), strict=True):
        elements[place] = name
    w.names[op.result] = tuple(elements)


def const_array(w: Writer, op: Any) -> None:
    octets = bytes.fromhex(op.data)
    spelled = "".join(f"\\{octet:02X}" for octet in octets)
    constant = f'internal unnamed_addr addrspace(4) constant [{len(octets)} x i8] c"{spelled}", align {op.type.align}'
    w.names[op.result] = w.globals.setdefault(constant, f"@array{len(w.globals)}")


def rmem_alloc(w: Writer, op: Any) -> None:
    """Allocate local memory, for a register tensor that is indexed at run time."""
    t = tensor_type(op.result)
    size, align = static_cosize(t.layout) * t.elem.bytes, max(t.align, t.elem.bytes)
    w.names[op.result] = w.local(size, align)


def ret(w: Writer, op: Any) -> None:
    """Write the end of the kernel or function; if it is profiled, first the time at which the warp ends."""
    if w.profiled:
        _in("profile", "end")(w, op)
    w.line("ret void" if op.value is None else f"ret {leaf(op.value.type)} {w.one(op.value)}")


def _in(module: str, name: str) -> Callable[[Writer, Any], None]:
    """Return a function of this room that is imported when it is called, since few kernels have its op."""

    def write(w: Writer, op: Any) -> None:
        getattr(part(module), name)(w, op)

    return write


def part(module: str) -> Any:
    """Return a file of this room that few kernels need, imported when asked for."""
    return import_module(f"cutelite.lower.{module}")


STRUCTURE: dict[str, Callable[[Writer, Any], None]] = {
    "const": const,
    "choose": choose,
    "vec.make": vec_make,
    "vec.splat": vec_splat,
    "vec.undefined": vec_undefined,
    "vec.gather": vec_gather,
    "vec.put": vec_put,
    "const.array": const_array,
    "rmem.alloc": rmem_alloc,
    "printf": _in("reports", "printf"),
    "assert.fail": _in("reports", "assert_fail"),
    "call": _in("calls", "call"),
    "breakpoint": lambda w, op: None,
    "profile.mark": _in("profile", "mark"),
    "record": _in("records", "record"),
    "ret": ret,
    "unreachable": lambda w, op: w.line("unreachable"),
}
"""The functions, by op name. Branches are written by `function`, which knows the blocks."""


def missing(op: Op) -> str:
    return f"{op.name} has neither `llvm` nor `ptx`: a pass should have expanded it"
