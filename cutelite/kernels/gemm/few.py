"""Products of at most eight rows with a small matrix of weights, as in decoding: ``out = a @ b + c``.

There is a block for each multiprocessor, which takes 16 rows of weights at a time, from a queue, since multiprocessors
do not get equal shares of the bandwidth. Its warps load their parts of K of these rows directly into registers, as left
operand of mma.sync: 16 bytes of a row per thread. So the order of elements along K differs from mma.sync's, which does
not matter since x has the same order. Warps alternate along K, so that a block reads 2 KB of a row at a time. They add
up their sums through shared memory, while weights of the block's next rows are being loaded. The first weights are
loaded before the previous kernel has ended.
"""

from __future__ import annotations

from functools import cache
from math import prod
from typing import Any

import cutelite as cl
import cutelite_rt as rt
from cutelite import Tensor, f32, i32
from cutelite.kernels.arguments import HALVES
from cutelite.kernels.arrays import clusters_at_once, code_of, counter, dtype_of
from cutelite.kernels.gemm.arrays import check_places, evenly, reshaped
from cutelite.kernels.gemm.rates import AT_ONCE
from cutelite.lib.tile_queue import clear_counter
from cutelite.records import dataclass
from cutelite.target.targets import WARP

N, K, X, W, O, A = cl.dims("N K X:8 W:8 O A")  # noqa: E741
HIGH, WIDE, QUAD = 16, 32, 4  # rows and columns of a tile of weights; threads that hold a row
DEPTH = 2  # tiles along K that a warp loads at once
MOST = 8  # rows of x: columns of mma.sync
WARPS = 16  # of a block
THREADS = WARPS * WARP
ONCE = cl.CopyUniversalOp(128, cache="nc", evict="no_allocate", prefetch=128)
AHEAD = 512  # bytes of a row and warp that L2 is asked for before the kernel ahead has ended
SMALL = 10 << 20  # bytes of weights up to which this takes less time than tiles do
SHALLOW = 2048  # and the extent of K, where no weights are loaded ahead


@dataclass(frozen=True)
class Few:
    """The kind of product that a kernel is made for.

    dtype   the dtype of x, weights and results
    rows    the number of rows of x
    there   the weights are complete before the previous kernel begins, as `call.multiply` has it
    """

    dtype: Any
    rows: int
    there: bool = False

    @property
    def kept(self) -> Any:
        """The layout of a thread's weights of a step: elements, rows that are 8 apart, and tiles along K."""
        return cl.make_layout((8, 2, DEPTH))

    def fetch(self, w: Any, held: Any, number: Any, step: Any) -> None:
        """Load this thread's weights of a step along K."""
        lane, once = cl.thread_idx.x % WARP, cl.make_copy_atom(ONCE, self.dtype)
        for half in cl.static_range(2):
            row = w[number * HIGH + lane // QUAD + 8 * half, None]
            for i in cl.static_range(DEPTH):
                unit = (step * DEPTH + i) * QUAD + lane % QUAD
                cl.copy(once, cl.local_tile(row, (8,), (unit,)), held[None, half, i])

    def ask(self, w: Any, warp: Any) -> None:
        """Prefetch the weights of the block's first rows that follow the loaded ones into L2, a row for each thread."""
        lane = cl.thread_idx.x % WARP
        column = (WARPS * DEPTH * WIDE) + warp * (AHEAD // self.dtype.bytes)
        if lane < HIGH and column + AHEAD // self.dtype.bytes <= K:
            cl.cp_async_bulk_prefetch(w.at(cl.block_idx.x * HIGH + lane, column), AHEAD)

    def add_up(self, left: Any, x: Any, step: Any, sums: Any) -> None:
        """Multiply this thread's weights of a step by its elements of x."""
        lane = cl.thread_idx.x % WARP
        row, known = min(lane // QUAD, self.rows - 1), cl.make_rmem_tensor(self.dtype, self.kept)
        known.store(left)
        for i in cl.static_range(DEPTH):
            right = cl.local_tile(x[row, None], (8,), ((step * DEPTH + i) * QUAD + lane % QUAD,)).load()
            a = known[None, None, i].view(cl.make_layout((2, 2, 2, 2), stride=(1, 8, 2, 4)))
            for part in cl.static_range(2):
                sums.store(cl.mma_sync(a[None, None, None, part].load(), right[4 * part : 4 * part + 4], sums.load()))

    def lay(self, sums: Any, parts: Any) -> None:
        """Write this thread's sums to shared memory, where those of all warps are added up."""
        warp, lane = cl.thread_idx.x // WARP, cl.thread_idx.x % WARP
        for i in cl.static_range(4):
            parts[warp, lane // QUAD + i // 2 * 8, lane % QUAD * 2 + i % 2] = sums[i]

    def write(self, parts: Any, number: Any, out: Any, add: Any) -> None:
        """Add up the sums of all warps, and write the results: one for each thread."""
        if cl.thread_idx.x < HIGH * self.rows:
            down, row = cl.thread_idx.x % HIGH, cl.thread_idx.x // HIGH
            value, column = parts[None, down, row].load().reduce("sum"), number * HIGH + down
            if add is not None:
                value = value + add[row, column].to(f32)
            out[row, column] = value.to(self.dtype)


@cache
def build(few: Few) -> Any:
    """Make the kernel."""
    dtype, rows = few.dtype, few.rows
    apart = HIGH + 4  # elements from one row of x to the next, so that threads of a warp use different banks
    laid = cl.make_layout((WARPS, HIGH, MOST), stride=(apart * MOST, 1, apart))

    @cl.kernel(block=THREADS)
    def product(
        x: Tensor[dtype, (rows, K), (X, 1), cl.align(16)], w: Tensor[dtype, (N, K), (W, 1), cl.align(16)],
        out: Tensor[dtype, (rows, N), (O, 1)], add: Tensor[dtype, (rows, N), (A, 1)] | None,
        counter: Tensor[i32, (1,)],
    ) -> None:  # fmt: skip
        """`counter` is 0 before and after each launch: blocks take whatever rows are next."""
        cl.griddepcontrol_launch_dependents()
        warp, number = cl.thread_idx.x // WARP, i32(cl.block_idx.x)
        steps, count = i32(K // (WIDE * DEPTH)), i32(N // HIGH)
        held, parts, told = cl.make_rmem_tensor(dtype, few.kept), cl.shared(f32, laid), cl.shared(i32, (1,))
        held.fill(0.0)
        if few.there:
            if warp < steps:
                few.fetch(w, held, number, warp)
            few.ask(w, warp)
        cl.griddepcontrol_wait()
        if not few.there and warp < steps:
            few.fetch(w, held, number, warp)
        while number < count:
            ticket = i32(0)
            if cl.thread_idx.x == 0:
                ticket = cl.atomic_add(counter, 0, 1)
            sums, left, step = cl.make_rmem_tensor(f32, (4,)), held.load(), i32(warp)
            sums.fill(0.0)
            while step + WARPS < steps:
                few.fetch(w, held, number, step + WARPS)
                few.add_up(left, x, step, sums)
                left, step = held.load(), step + WARPS
            if cl.thread_idx.x == 0:
                told[0] = ticket + i32(cl.grid_dim.x)
                clear_counter(counter, ticket, count)
            cl.syncthreads()  # all have read the sums of the rows before, too
            later = told[0]
            if later < count and warp < steps:
                few.fetch(w, held, later, warp)
            if warp < steps:
                few.add_up(left, x, step, sums)
            few.lay(sums, parts)
            cl.syncthreads()
            few.write(parts, number, out, add)
            number = later

    return product


def few_pays(a: Any, b: Any, out: Any, fused: cl.Fused, there: bool = False) -> bool:
    """Tell whether `by_few` is to compute a product: few rows by a small matrix along K, and nothing but C added.

    Small: of no more bytes than `SMALL`, and each block has rows once.

    a, b, out  (..., K), (K, N) and (..., N)
    there      as for `call.multiply`
    """
    rows, k, n = prod(a.shape[:-1]), a.shape[-1], out.shape[-1]
    if rows > MOST or b.ndim != 2 or k % (WIDE * DEPTH) or n % HIGH:
        return False
    if k * n * 2 > SMALL or (k > SHALLOW and not there) or n // HIGH > AT_ONCE[1]:
        return False
    others = (fused.bias, fused.scales.a, fused.scales.b, fused.activation, fused.finish)
    plain = all(x is None for x in others) and (fused.alpha, fused.beta) == (1.0, float(fused.c is not None))
    alike = code_of(a) in HALVES and code_of(a) == code_of(b) == code_of(out)
    folds = all(evenly(x) for x in (a, out, fused.c) if x is not None)
    return plain and alike and folds and in_units(a, -1) and in_units(b, -2)


def in_units(operand: Any, along: int) -> bool:
    """Tell whether an operand is contiguous along a mode, and its rows begin at multiples of 16 bytes."""
    view = rt.read(operand)
    strides = [stride for mode, stride in enumerate(view.strides) if mode - len(view.strides) != along]
    return view.strides[along] == 1 and view.pointer % 16 == 0 and all(stride % 8 == 0 for stride in strides)


def by_few(a: Any, b: Any, out: Any, fused: cl.Fused, there: bool) -> None:
    """Compute a product that `few_pays` takes. there: as for `call.multiply`."""
    n, k, rows = out.shape[-1], a.shape[-1], prod(a.shape[:-1])
    check_places({"a": rt.read(a), "b": rt.read(b)}, rt.read(out), fused)
    add = None if fused.c is None else fused.c.reshape((rows, n))
    launch = cl.Launch(min(clusters_at_once(1, a), n // HIGH), THREADS, pdl=True)
    kernel = build(Few(dtype_of(code_of(a)), rows, there))
    kernel[launch](a.reshape((rows, k)), b.swapaxes(0, 1), reshaped(out, (rows, n)), add, counter(a))
