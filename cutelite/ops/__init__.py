"""The vocabulary: a module per hardware family, a class per instruction, declared once (see `ir.op`).

Importing this package registers every op.
"""

from cutelite.ops import (
    arith,
    cluster,
    control,
    cp_async,
    index,
    mbarrier,
    memory,
    registers,
    tensor,
    tma,
    wgmma,
)

__all__ = [
    "arith",
    "cluster",
    "control",
    "cp_async",
    "index",
    "mbarrier",
    "memory",
    "registers",
    "tensor",
    "tma",
    "wgmma",
]
