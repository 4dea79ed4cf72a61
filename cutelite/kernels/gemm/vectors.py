"""Products of at most 8 rows with a matrix that TMA cannot read: rows of 16-bit elements that begin anywhere.

    out = x @ w          # x (rows, K); w (K, N), contiguous along K (`Dots`) or along N (`Sums`)

The matrix is read once, where it lies, by loads of as many bytes as its rows are aligned to, 2 to 16. Each thread has
several under way, so that narrow ones reach the memory's bandwidth too. Sums are in f32 and always added in the same
order.

Dots  a block has some columns of w, each contiguous; its threads share K
Sums  a block has a strip of columns, its warps share K, and with few strips so do the blocks of a cluster
"""

# mypy: disable-error-code="valid-type, attr-defined, index, type-arg, operator, arg-type, misc, name-defined"
# (kernels are made for dtypes, which annotations cannot express for a type checker)

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from functools import cache
from math import gcd
from typing import Any

import cutelite as cl
import cutelite_rt as rt
from cutelite import Tensor, f32, i32
from cutelite.kernels.arrays import clusters_at_once, code_of
from cutelite.lang.given import given_by
from cutelite.records import dataclass
from cutelite.target.targets import WARP

N, K = cl.dims("N K")
MOST = 8  # rows
FEW, WIDE, DEEP = 4, 4096, 2048
"""Rows up to which the kernels are faster than a GEMM, where w is contiguous along K; along N, if it has so many
columns and rows."""
OUT = "bf16", "f16", "f32"
"""Dtypes of results."""
CHUNK = 1024  # elements of a row of x that a block holds at once
AT_ONCE = 8  # rows of w of which a warp loads its part at once
ROUNDS = 2  # blocks for each multiprocessor, at least, as long as K can be shared out
WIDEST = 8  # blocks of a cluster
WARPS = 8  # of a block


@dataclass(frozen=True)
class Vectors:
    """The kind of product that a kernel is made for.

    dtype, result  of x and w, and of results
    rows           how many x has
    each           elements of w that a thread loads at once: rows of w begin at a multiple of them, and so they end
    along          the mode along which w is contiguous
    blocks         how many blocks, a cluster, share K
    by_row         the bias is a number for each row, not for each column
    activation     elementwise, on vectors of f32
    """

    dtype: Any
    result: Any
    rows: int
    each: int
    along: str
    blocks: int = 1
    by_row: bool = False
    activation: Callable[[Any], Any] | None = None

    @property
    def across(self) -> int:
        """Columns of w of a block."""
        if self.along == "K":
            return 8 if self.each < 4 else 4
        return WARP * self.each * self.side

    @property
    def side(self) -> int:
        """Vectors that a thread loads of a row: two of 2 bytes each."""
        return 2 if self.each == 1 else 1

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

    def strip(self, w: Any, row: Any, column: Any) -> Any:
        """Load this thread's elements of a row of w."""
        held = cl.make_rmem_tensor(self.dtype, (self.each, self.side))
        for i in cl.static_range(self.side):
            unit = min(column // self.each + i * WARP, N // self.each - 1)
            held[None, i].store(cl.local_tile(w[row, None], (self.each,), (unit,)).load())
        return held

    def stage(self, x: Any, start: Any, end: Any, factors: Any) -> None:
        """Load columns of x to shared memory, those from `start` on. Who: all threads."""
        cl.syncthreads()
        for i in range(cl.thread_idx.x, self.rows * CHUNK, WARPS * WARP):
            if start + i % CHUNK < end:
                factors[i // CHUNK, i % CHUNK] = x[i // CHUNK, start + i % CHUNK].to(f32)
        cl.syncthreads()

    def of_rows(self, w: Any, start: Any, count: Any, column: Any, factors: Any, sums: Any) -> None:
        """Multiply this warp's part of `count` rows of w from `start` on by the staged elements of x."""
        warp = cl.thread_idx.x // WARP
        whole = count // (AT_ONCE * WARPS)
        for i in cl.range(whole, unroll=2):
            at = (i * WARPS + warp) * AT_ONCE
            held = [self.strip(w, start + at + j, column) for j in range(AT_ONCE)]
            for j in cl.static_range(AT_ONCE):
                for m in cl.static_range(self.rows):
                    self.add(flat(held[j]), factors[m, at + j], sums, m)
        for k in range(whole * AT_ONCE * WARPS + warp, count, WARPS):
            held = self.strip(w, start + k, column)
            for m in cl.static_range(self.rows):
                self.add(flat(held), factors[m, k], sums, m)

    def lay(self, sums: Any, parts: Any) -> None:
        """Write this thread's sums to shared memory."""
        warp, lane = cl.thread_idx.x // WARP, cl.thread_idx.x % WARP
        for m in cl.static_range(self.rows):
            for i in cl.static_range(self.side):
                for j in cl.static_range(self.each):
                    parts[warp, m, (lane + i * WARP) * self.each + j] = sums[i * self.each + j, m]

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
            value = given_by("activation", self.activation(held.load()), held.load())[0]
        out[row, column] = value.to(self.result)


def aligned(kind: Vectors, shape: tuple[Any, Any]) -> Any:
    """The type of w as it lies."""
    return Tensor[kind.dtype, shape, (cl.Dim("W", kind.each), 1), cl.align(kind.each * kind.dtype.bytes)]


@cache
def build(kind: Vectors, of_bias: Any) -> Any:
    """Make the kernel."""
    X, RESULTS = Tensor[kind.dtype, (kind.rows, K), (None, None)], Tensor[kind.result, (kind.rows, N), (None, None)]
    W, BIAS = aligned(kind, (N, K) if kind.along == "K" else (K, N)), Tensor[of_bias, (None,)]
    make = dots if kind.along == "K" else sums_of_rows
    return make(kind, X, W, RESULTS, BIAS)


def dots(kind: Vectors, X: Any, W: Any, RESULTS: Any, BIAS: Any) -> Any:
    """Make the kernel where w is contiguous along K."""
    rows, across, threads = kind.rows, kind.across, WARPS * WARP

    @cl.kernel(block=threads)
    def product(
        x: X, w: W, out: RESULTS, c: RESULTS | None, bias: BIAS | None, alpha: f32, beta: f32
    ) -> None:  # fmt: skip
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


def sums_of_rows(kind: Vectors, X: Any, W: Any, RESULTS: Any, BIAS: Any) -> Any:
    """Make the kernel where w is contiguous along N."""
    rows, across, threads = kind.rows, kind.across, WARPS * WARP

    @cl.kernel(block=threads, cluster=(kind.blocks, 1, 1) if kind.blocks > 1 else None)
    def product(
        x: X, w: W, out: RESULTS, c: RESULTS | None, bias: BIAS | None, alpha: f32, beta: f32
    ) -> None:  # fmt: skip
        cl.griddepcontrol_launch_dependents()
        thread = cl.thread_idx.x
        first, rank = cl.block_idx.x // kind.blocks * across, cl.block_idx.x % kind.blocks
        column = first + thread % WARP * kind.each
        factors, parts = cl.shared(f32, (rows, CHUNK)), cl.shared(f32, (WARPS, rows, across))
        totals = cl.shared(f32, (rows, across))
        sums = cl.make_rmem_tensor(f32, (kind.each * kind.side, rows))
        sums.fill(0.0)
        begin, end = i32(K) * rank // kind.blocks, i32(K) * (rank + 1) // kind.blocks
        cl.griddepcontrol_wait()
        for start in range(begin, end, CHUNK):
            kind.stage(x, start, end, factors)
            kind.of_rows(w, start, min(CHUNK, end - start), column, factors, sums)
        kind.lay(sums, parts)
        cl.syncthreads()
        for i in range(thread, rows * across, threads):
            totals[i // across, i % across] = parts[None, i // across, i % across].load().reduce("sum")
        if kind.blocks > 1:
            cl.cluster_sync()
        else:
            cl.syncthreads()
        for i in range(rank * threads + thread, rows * across, threads * kind.blocks):
            if first + i % across < N:
                total = totals[i // across, i % across]
                if kind.blocks > 1:
                    found = [cl.mapa(totals, block)[i // across, i % across] for block in range(kind.blocks)]
                    total = found[0]
                    for more in found[1:]:
                        total = total + more
                kind.put(out, i // across, first + i % across, total, (c, bias, alpha, beta))
        if kind.blocks > 1:
            cl.cluster_sync()  # until here, other blocks read this one's sums

    return product


def flat(held: Any) -> Any:
    """All elements of a thread's vectors, f32."""
    return held.load().to(f32).reshape((held.size,))


def takes(x: Any, w: Any) -> bool:
    """Tell whether `run` takes x (rows, K) and w (K, N): 16 bits, at most `MOST` rows, w contiguous along a mode."""
    strides = rt.read(w).strides
    kinds = code_of(x) == code_of(w) and code_of(w) in ("bf16", "f16")
    return kinds and 0 < x.shape[0] <= MOST and min(strides) > 0 and 1 in strides


def pays(x: Any, w: Any) -> bool:
    """Tell whether `run` takes them, and is faster than a copy of w for TMA."""
    (k, n), along_k = w.shape, rt.read(w).strides[0] == 1
    return takes(x, w) and x.shape[0] <= FEW and (along_k or (n >= WIDE and k >= DEEP))


def run(x: Any, w: Any, out: Any, fused: cl.Fused) -> None:
    """``activation(alpha * (x @ w) + beta * c + bias)``, of arrays that `takes` takes; the bias as `fused` has it.

    x, w, out  (rows, K), (K, N) and (rows, N), of any strides
    """
    left, right = rt.read(x), rt.read(w)
    rows, (k, n) = left.shape[0], right.shape
    along = "K" if right.strides[0] == 1 else "N"
    pitch, wide = (right.strides[1], k) if along == "K" else (right.strides[0], n)
    each = gcd(8, pitch, wide, right.pointer // 2)
    dtype, result = (getattr(cl, rt.read(array).dtype) for array in (x, out))
    kind = Vectors(dtype, result, rows, each, along, 1, fused.by_row, fused.activation)
    strips = -(-n // kind.across)
    if along == "N":
        wanted, blocks = ROUNDS * clusters_at_once(1, out), 1
        while blocks < WIDEST and strips * blocks < wanted and k >= 2 * blocks * AT_ONCE * WARPS:
            blocks *= 2
        kind = replace(kind, blocks=blocks)
    of_bias = f32 if fused.bias is None else getattr(cl, rt.read(fused.bias).dtype)
    launch = cl.Launch(strips * kind.blocks, WARPS * WARP, pdl=True)
    given = w.swapaxes(0, 1) if along == "K" else w
    build(kind, of_bias)[launch](x, given, out, fused.c, fused.bias, fused.alpha, fused.beta)
