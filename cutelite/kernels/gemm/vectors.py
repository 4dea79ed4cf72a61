"""Products of at most 8 rows with a matrix that TMA cannot read: columns of 16-bit elements that begin anywhere.

    out = x @ w          # x (rows, K); w (K, N), contiguous along K

The matrix is read once, where it lies, by loads of as many bytes as its columns are aligned to, 2 to 16. A block has
some columns of w, its threads share K, and each has several loads under way, so that narrow ones reach the memory's
bandwidth too. Sums are in f32 and always added in the same order.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from math import gcd
from typing import Any

import cutelite as cl
import cutelite_rt as rt
from cutelite import Tensor, f32, i32
from cutelite.kernels.arrays import code_of, dtype_of
from cutelite.lang.given import given_by
from cutelite.records import dataclass
from cutelite.target.targets import WARP

N, K = cl.dims("N K")
MOST = 8  # rows
FEW = 4
"""Rows up to which the kernel is faster than a GEMM whose threads load."""
OUT = "bf16", "f16", "f32"
"""Dtypes of results."""
WARPS = 8  # of a block


@dataclass(frozen=True)
class Vectors:
    """The kind of product that a kernel is made for.

    dtype, result  of x and w, and of results
    rows           how many x has
    each           elements of w that a thread loads at once: columns of w begin at a multiple of them, and so they end
    by_row         the bias is a number for each row, not for each column
    activation     elementwise, on vectors of f32
    """

    dtype: Any
    result: Any
    rows: int
    each: int
    by_row: bool = False
    activation: Callable[[Any], Any] | None = None

    @property
    def across(self) -> int:
        """Columns of w of a block."""
        return 8 if self.each < 4 else 4

    def add(self, held: Any, factor: Any, sums: Any, m: int) -> None:
        """Add ``factor * held`` to sums of row m: a number for each element of two fragments."""
        sums[None, m].store(held * factor + sums[None, m].load())

    def of_columns(self, x: Any, w: Any, first: Any, unit: Any, sums: Any) -> None:
        """Multiply this thread's elements of the block's columns of w, which lie in rows, by those of x."""
        held, last = cl.make_rmem_tensor(self.dtype, (self.each, self.across)), w.shape[0] - 1
        for i in cl.static_range(self.across):
            held[None, i].store(cl.local_tile(w[min(first + i, last), None], (self.each,), (unit,)).load())
        for m in cl.static_range(self.rows):
            for j in cl.static_range(self.each):
                factor = x[m, unit * self.each + j].to(f32)
                self.add(held[j, None].load().to(f32), factor, sums, m)

    def put(self, out: Any, row: Any, column: Any, total: Any, more: Any) -> None:
        """Store a result."""
        c, bias, alpha, beta = more
        value = total * alpha
        if c is not None:
            value = value + c[row, column].to(f32) * beta
        if bias is not None:
            value = value + bias[row if self.by_row else column].to(f32)
        if self.activation is not None:
            held = cl.make_rmem_tensor(f32, (1,))
            held[0] = value
            value = given_by("activation", self.activation(held.load()), held.load(), self.activation)[0]
        out[row, column] = value.to(self.result)


@cache
def build(kind: Vectors, of_bias: Any) -> Any:
    """Make the kernel."""
    X, RESULTS = Tensor[kind.dtype, (kind.rows, K), (None, None)], Tensor[kind.result, (kind.rows, N), (None, None)]
    W = Tensor[kind.dtype, (N, K), (cl.Dim("W", kind.each), 1), cl.align(kind.each * kind.dtype.bytes)]
    BIAS = Tensor[of_bias, (None,)]
    rows, across, threads = kind.rows, kind.across, WARPS * WARP

    @cl.kernel(block=threads)
    def product(x: X, w: W, out: RESULTS, c: RESULTS | None, bias: BIAS | None, alpha: f32, beta: f32) -> None:
        cl.griddepcontrol_launch_dependents()
        first, units, thread = cl.block_idx.x * across, i32(K // kind.each), cl.thread_idx.x
        sums, parts = cl.make_rmem_tensor(f32, (across, rows)), cl.shared(f32, (WARPS, across * rows))
        sums.fill(0.0)
        cl.griddepcontrol_wait()
        for i in cl.range(units // threads, unroll=2):
            kind.of_columns(x, w, first, thread + i * threads, sums)
        rest = units // threads * threads + thread
        if rest < units:
            kind.of_columns(x, w, first, rest, sums)
        for i in cl.static_range(across * rows):
            total = cl.warp_reduce(sums[i % across, i // across])
            if thread % WARP == 0:
                parts[thread // WARP, i] = total
        cl.syncthreads()
        if thread < across * rows and first + thread % across < N:
            total = parts[None, thread].load().reduce("sum")
            kind.put(out, thread // across, first + thread % across, total, (c, bias, alpha, beta))

    return product


def takes(x: Any, w: Any) -> bool:
    """Tell whether `run` takes x (rows, K) and w (K, N): 16 bits, at most `MOST` rows, w contiguous along K."""
    strides = rt.read(w).strides
    kinds = code_of(x) == code_of(w) and code_of(w) in ("bf16", "f16")
    return kinds and 0 < x.shape[0] <= MOST and min(strides) > 0 and strides[0] == 1


def pays(x: Any, w: Any) -> bool:
    """Tell whether `run` takes them, and is faster than other ways for a w that TMA cannot read."""
    return takes(x, w) and x.shape[0] <= FEW


def run(x: Any, w: Any, out: Any, fused: cl.Fused) -> None:
    """``activation(alpha * (x @ w) + beta * c + bias)``, of arrays that `takes` takes; the bias as `fused` has it.

    x, w, out  (rows, K), (K, N) and (rows, N), of any strides
    """
    left, right = rt.read(x), rt.read(w)
    rows, (k, n) = left.shape[0], right.shape
    each = gcd(8, right.strides[1], k, right.pointer // 2)
    dtype, result = (dtype_of(rt.read(array).dtype) for array in (x, out))
    kind = Vectors(dtype, result, rows, each, fused.by_row, fused.activation)
    of_bias = f32 if fused.bias is None else dtype_of(rt.read(fused.bias).dtype)
    launch = cl.Launch(-(-n // kind.across), WARPS * WARP, pdl=True)
    build(kind, of_bias)[launch](x, w.swapaxes(0, 1), out, fused.c, fused.bias, fused.alpha, fused.beta)
