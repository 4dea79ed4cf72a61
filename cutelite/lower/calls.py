"""Calls of functions that are linked, by the C ABI of PTX: addresses are generic pointers."""

from __future__ import annotations

from typing import Any

from cutelite.lower.types import SPACES, leaf
from cutelite.lower.writer import Writer


def call(w: Writer, op: Any) -> None:
    args = []
    for value in op.inputs:
        name, t = w.one(value), leaf(value.type)
        if t.startswith("ptr addrspace(7)"):  # LLVM cannot cast shared::cluster addresses to generic ones
            wide = w.define(f"ptrtoint {t} {name} to i32")
            name, t = w.define(f"inttoptr i32 {wide} to {SPACES['smem']}"), SPACES["smem"]
        if t.startswith("ptr addrspace"):
            name, t = w.define(f"addrspacecast {t} {name} to ptr"), "ptr"
        args.append(f"{t} {name}")
    result = leaf(op.outs[0]) if op.outs else "void"
    types = ", ".join(arg.rpartition(" ")[0] for arg in args)
    w.declared[f"declare {result} @{op.function}({types}) #{4 if op.pure else 2}"] = None
    text = f"call {result} @{op.function}({', '.join(args)}) #{4 if op.pure else 2}"
    if op.outs:
        w.names[op.result] = w.define(text)
    else:
        w.line(text)
