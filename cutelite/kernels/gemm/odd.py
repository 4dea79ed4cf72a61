"""Operands that TMA cannot read: whether they are copied, loaded by threads, or multiplied as vectors.

It is whatever is expected to take the least time.
"""

from __future__ import annotations

from dataclasses import replace
from math import prod
from typing import Any

import cutelite as cl
import cutelite_rt as rt
from cutelite.kernels.arrays import code_of
from cutelite.kernels.gemm import pitch, vectors
from cutelite.kernels.gemm.arrays import check_places
from cutelite.kernels.gemm.laid import lies_for_tma
from cutelite_rt.dtype import DTYPES

TILE = 112
"""Rows and columns of a tile where threads load operands, more or less."""
LOADED, STEP, COPIED, READ, SECOND, AHEAD = 0.55e-6, 0.6 / 512, 0.88e-6, 0.25e-6, 2.0, 5.0
"""Microseconds, as some 30 sizes have them (docs/lab/gemm.md): for a byte that blocks load by threads, and at least for
each of K, which eight blocks share; for a byte of an operand that is copied, and for one of another, with the GEMM
behind; for the kernel that copies; and for one ahead of loads."""


def loadable(a: Any, b: Any) -> bool:
    """Tell whether threads can load the operands, (..., M, K) and (..., K, N), one of which TMA cannot read.

    Elements are counted by i32.
    """
    able = all(
        DTYPES[x.dtype].bytes == 2 and x.pointer % pitch.UNIT == 0 and min(x.strides) > 0 and 1 in x.strides[-2:]
        and max(i * j for i, j in zip(x.shape, x.strides, strict=True)) < 1 << 30
        for x in (rt.read(a), rt.read(b))
    )  # fmt: skip
    return able and not (lies_for_tma(a, -1) and lies_for_tma(b, -2))


def by_threads(a: Any, b: Any, always: bool = False) -> str:
    """Return which operands threads are to load, 'A', 'B', 'AB' or '': what is expected to take the least time.

    They load each element once for each tile that needs it; a copy for TMA is written, and read again.

    always  some of those that TMA cannot read, even if copies of all take less time
    """
    if not loadable(a, b):
        return ""
    sizes = {name: DTYPES[code_of(x)].bytes * prod(x.shape) for name, x in (("A", a), ("B", b))}
    tiles = {"A": -(-b.shape[-1] // TILE), "B": -(-a.shape[-2] // TILE)}
    odd = "A" * (not lies_for_tma(a, -1)) + "B" * (not lies_for_tma(b, -2))

    def expected(loaded: str) -> Any:
        copied = [name for name in odd if name not in loaded]
        read = sum(sizes[name] for name in "AB" if name not in odd)
        copies = COPIED * sum(sizes[name] for name in copied) + (AHEAD if loaded else SECOND) * (len(copied) > 0)
        loads = max(LOADED * sum(sizes[name] * tiles[name] for name in loaded), STEP * a.shape[-1] * (loaded != ""))
        return loads + READ * read + copies

    ways = [odd, *([] if always else [""]), *(["A", "B"] if len(odd) > 1 else [])]
    return min(ways, key=expected)


def vectors_pay(a: Any, b: Any, out: Any, fused: cl.Fused) -> bool:
    """Tell whether `vectors` is to compute the product: few rows, or columns, by a matrix that TMA cannot read."""
    scaled = fused.scales.a is not None or fused.scales.b is not None
    if a.ndim != 2 or b.ndim != 2 or fused.finish is not None or scaled or code_of(out) not in vectors.OUT:
        return False
    few = out.shape[0] <= out.shape[1]
    able = vectors.pays(a, b) if few else vectors.pays(b.swapaxes(0, 1), a.swapaxes(0, 1))
    readable = lies_for_tma(b, -2) if few else lies_for_tma(a, -1)
    return able and not readable


def by_vectors(a: Any, b: Any, out: Any, fused: cl.Fused) -> None:
    """Compute the product by `vectors`."""
    check_places({"a": rt.read(a), "b": rt.read(b)}, rt.read(out), fused)
    if out.shape[0] > out.shape[1]:
        c = None if fused.c is None else fused.c.swapaxes(0, 1)
        a, b, out = b.swapaxes(0, 1), a.swapaxes(0, 1), out.swapaxes(0, 1)
        fused = replace(fused, c=c, by_row=True)
    vectors.run(a, b, out, fused)
