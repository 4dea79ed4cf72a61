# mypy: ignore-errors
"""The kernels of `launch.py` as Triton has them: a file of their own, for it is optional and reads their source."""

from __future__ import annotations

import triton
import triton.language as tl


@triton.jit
def vector_add(a, b, c, n, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(c + i, tl.load(a + i, mask=i < n) + tl.load(b + i, mask=i < n), mask=i < n)


@triton.jit
def many(a, b, c, d, e, i0, i1, i2, i3, i4, i5, i6, x, y, n, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    first = tl.load(a + i, mask=i < n) + tl.load(b + i, mask=i < n)
    second = tl.load(c + i, mask=i < n) + tl.load(d + i, mask=i < n)
    tl.store(e + i, first * x + second * y + (i0 + i1 + i2 + i3 + i4 + i5 + i6), mask=i < n)
