"""The vocabulary: a module per hardware family, a class per instruction, declared once (see `ir.op`).

The families are imported when first used: a kernel that comes from the cache needs few of them. `REGISTRY` imports all
where it is asked for an op that it does not know yet.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

from cutelite.ir.op import REGISTRY

if TYPE_CHECKING:
    from cutelite.ops import (  # isort: skip
        arith, asm, atomics, bits, call, cluster, control, convert, cp_async, debug, f32x2,
        index, ldmatrix, math, mbarrier, memory, mma, mma_packed, mma_scaled, mma_sparse, multimem,
        narrow, registers, sync, tcgen05, tcgen05_mma, tensor, tensormap, tma, trig, warp, wgmma,
    )  # fmt: skip

__all__ = [
    "arith", "asm", "atomics", "bits", "call", "cluster", "control", "convert", "cp_async", "debug", "f32x2",
    "index", "ldmatrix", "math", "mbarrier", "memory", "mma", "mma_packed", "mma_scaled", "mma_sparse", "multimem",
    "narrow", "registers", "sync", "tcgen05", "tcgen05_mma", "tensor", "tensormap", "tma", "trig", "warp", "wgmma",
]  # fmt: skip


def load_all() -> None:
    """Import every family: register every op."""
    for name in __all__:
        importlib.import_module(f"{__name__}.{name}")


REGISTRY.load_all = load_all


def __getattr__(name: str) -> Any:
    if name not in __all__:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return importlib.import_module(f"{__name__}.{name}")
