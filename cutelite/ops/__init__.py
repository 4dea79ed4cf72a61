"""The vocabulary: a module per hardware family, a class per instruction, declared once (see `ir.op`).

Importing this package registers every op.
"""

from cutelite.ops import (
    arith,
    asm,
    atomics,
    bits,
    cluster,
    control,
    convert,
    cp_async,
    debug,
    index,
    ldmatrix,
    math,
    mbarrier,
    memory,
    mma,
    registers,
    sync,
    tensor,
    tma,
    trig,
    warp,
    wgmma,
)

__all__ = [
    "arith",
    "asm",
    "atomics",
    "bits",
    "cluster",
    "control",
    "convert",
    "cp_async",
    "debug",
    "index",
    "ldmatrix",
    "math",
    "mbarrier",
    "memory",
    "mma",
    "registers",
    "sync",
    "tensor",
    "tma",
    "trig",
    "warp",
    "wgmma",
]
