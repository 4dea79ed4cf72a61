"""Products of a few rows with a matrix of weights, as in decoding: weights are read once, at the memory's bandwidth.

    out = linear_of_few(x, weight)                                       # x @ weight.T
    out = linear_of_few(x, weight, add=residual)                         # + residual
    out = linear_of_few(x, weight, norm=factors, eps=1e-5)               # of the RMSNorm of x
    out = linear_of_few(x, weight, norm=factors, eps=1e-5, gate="silu")  # silu(gate) * up, weight having rows of both

There is a block for each multiprocessor, which takes 16 rows of weights at a time, from a queue, since multiprocessors
do not get equal shares of the bandwidth. Its warps load their parts of K of these rows directly into registers, as left
operand of mma.sync: 16 bytes of a row per thread. So the order of elements along K differs from mma.sync's, which does
not matter since x has the same order. Warps alternate along K, so that a block reads 2 KB of a row at a time. They add
up their sums through shared memory, while weights of the block's next rows are being loaded. The first weights are
loaded before the previous kernel has ended. Each block computes the norm of x itself, once.
"""

from __future__ import annotations

from functools import cache
from math import prod
from typing import Any

import cutelite as cl
import cutelite_rt as rt
from cutelite import Tensor, f32, i32
from cutelite.dispatch.divert import left_out
from cutelite.kernels.arguments import (
    HALVES,
    Arguments,
    ArrayError,
    as_number,
    check_given_apart,
    check_in_place,
    one_of,
)
from cutelite.kernels.arrays import clusters_at_once, code_of, counter
from cutelite.kernels.gemm.arrays import reshaped
from cutelite.kernels.planning import planned_alone
from cutelite.kernels.rows import gates
from cutelite.kernels.rows.arrays import DTYPES
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
HELD = 24_576  # elements of x with a norm, which threads hold in registers; of short rows any number
SHORT = 4096
AHEAD = 512  # bytes of a row and warp that L2 is asked for before the kernel ahead has ended


@dataclass(frozen=True)
class Few:
    """The kind of product that a kernel is made for.

    dtype   the dtype of x, weights and results
    rows    the number of rows of x
    norm    dtype of the norm's factors, and K; None: x is multiplied as it is
    gate    the name of a function of `kernels.rows.gates`: a block has a tile of gates and one of `up`
    early   the weights are complete before the previous kernel has ended
    """

    dtype: Any
    rows: int
    norm: tuple[Any, int] | None = None
    gate: str | None = None
    early: bool = False

    @property
    def tiles(self) -> int:
        """The number of tiles of weights that a block has at a time."""
        return 2 if self.gate else 1

    @property
    def kept(self) -> Any:
        """The layout of a thread's weights of a step: elements, rows that are 8 apart, tiles along N, and along K."""
        return cl.make_layout((8, 2, self.tiles, DEPTH))

    def fetch(self, w: Any, held: Any, columns: Any, number: Any, step: Any) -> None:
        """Load this thread's weights of a step along K; `columns` is the number of results of a row."""
        lane, once = cl.thread_idx.x % WARP, cl.make_copy_atom(ONCE, self.dtype)
        for tile in cl.static_range(self.tiles):
            start = number * HIGH + tile * columns + lane // QUAD
            for half in cl.static_range(2):
                for i in cl.static_range(DEPTH):
                    unit = (step * DEPTH + i) * QUAD + lane % QUAD
                    cl.copy(once, cl.local_tile(w[start + 8 * half, None], (8,), (unit,)), held[None, half, tile, i])

    def ask(self, w: Any, columns: Any, warp: Any) -> None:
        """Prefetch the weights of the block's first rows that follow the loaded ones into L2, a row for each thread."""
        lane = cl.thread_idx.x % WARP
        column = (WARPS * DEPTH * WIDE) + warp * (AHEAD // self.dtype.bytes)
        if lane < HIGH * self.tiles and column + AHEAD // self.dtype.bytes <= K:
            row = cl.block_idx.x * HIGH + lane
            if self.gate:
                row = row + cl.where(lane < HIGH, 0, columns - HIGH)
            cl.cp_async_bulk_prefetch(w.at(row, column), AHEAD)

    def normed(self, x: Any, factors: Any, eps: Any, columns: int) -> Any:
        """The norm of x, in shared memory. Who: all threads, of which each holds some columns of x."""
        units, thread = columns // 8, cl.thread_idx.x
        each = -(-units // THREADS)
        apart = columns + WIDE  # rows that follow each other in other banks
        made = cl.shared(self.dtype, cl.make_layout((self.rows, columns), stride=(apart, 1)), align=16)
        sums = cl.shared(f32, (self.rows, WARPS))
        held = cl.make_rmem_tensor(self.dtype, cl.make_layout((8, each, self.rows)))
        factor = cl.make_rmem_tensor(factors.dtype, cl.make_layout((8, each)))
        held.fill(0.0)
        for i in cl.static_range(each):
            unit = thread + i * THREADS
            if unit < units:
                factor[None, i].store(cl.local_tile(factors, (8,), (unit,)).load())
                for row in cl.static_range(self.rows):
                    held[None, i, row].store(cl.local_tile(x[row, None], (8,), (unit,)).load())
        for row in cl.static_range(self.rows):
            v = held[None, None, row].load().to(f32)
            total = cl.warp_reduce((v * v).reduce("sum"))
            if thread % WARP == 0:
                sums[row, thread // WARP] = total
        cl.syncthreads()
        for row in cl.static_range(self.rows):
            scale = cl.math.rsqrt(sums[row, None].load().reduce("sum") * (1.0 / columns) + eps)
            for i in cl.static_range(each):
                unit = thread + i * THREADS
                if unit < units:
                    v = held[None, i, row].load().to(f32) * scale * factor[None, i].load().to(f32)
                    cl.local_tile(made[row, None], (8,), (unit,)).store(v.to(self.dtype))
        cl.syncthreads()
        return made

    def add_up(self, left: Any, x: Any, step: Any, sums: Any) -> None:
        """Multiply this thread's weights of a step by its elements of x."""
        lane = cl.thread_idx.x % WARP
        row, known = min(lane // QUAD, self.rows - 1), cl.make_rmem_tensor(self.dtype, self.kept)
        known.store(left)
        for i in cl.static_range(DEPTH):
            right = cl.local_tile(x[row, None], (8,), ((step * DEPTH + i) * QUAD + lane % QUAD,)).load()
            for tile in cl.static_range(self.tiles):
                a = known[None, None, tile, i].view(cl.make_layout((2, 2, 2, 2), stride=(1, 8, 2, 4)))
                for part in cl.static_range(2):
                    b = right[4 * part : 4 * part + 4]
                    found = cl.mma_sync(a[None, None, None, part].load(), b, sums[None, tile].load())
                    sums[None, tile].store(found)

    def lay(self, sums: Any, parts: Any) -> None:
        """Write this thread's sums to shared memory, where those of all warps are added up."""
        warp, lane = cl.thread_idx.x // WARP, cl.thread_idx.x % WARP
        for tile in cl.static_range(self.tiles):
            for i in cl.static_range(4):
                parts[warp, tile * HIGH + lane // QUAD + i // 2 * 8, lane % QUAD * 2 + i % 2] = sums[i, tile]

    def write(self, parts: Any, number: Any, gate: Any, out: Any, add: Any) -> None:
        """Add up the sums of all warps, and write the results: one for each thread."""
        if cl.thread_idx.x < HIGH * self.rows:
            down, row = cl.thread_idx.x % HIGH, cl.thread_idx.x // HIGH
            value = parts[None, down, row].load().reduce("sum")
            if gate is not None:
                value = gate(value, parts[None, HIGH + down, row].load().reduce("sum"))
            column = number * HIGH + down
            if add is not None:
                value = value + add[row, column].to(f32)
            out[row, column] = value.to(self.dtype)


@cache
def build(few: Few) -> Any:
    """Make the kernel."""
    dtype, rows, tiles, high = few.dtype, few.rows, few.tiles, HIGH * few.tiles
    gate = None if few.gate is None else gates.functions(few.gate, False)[2]
    kind, columns = few.norm or (dtype, 0)
    apart = high + 4  # elements from one row of x to the next, so that threads of a warp use different banks
    laid = cl.make_layout((WARPS, high, MOST), stride=(apart * MOST, 1, apart))

    @cl.kernel(block=THREADS)
    def product(
        x: Tensor[dtype, (rows, K), (X, 1), cl.align(16)], w: Tensor[dtype, (None, K), (W, 1), cl.align(16)],
        out: Tensor[dtype, (rows, N), (O, 1)], add: Tensor[dtype, (rows, N), (A, 1)] | None,
        factors: Tensor[kind, (K,), (1,), cl.align(16)] | None, eps: f32, counter: Tensor[i32, (1,)],
    ) -> None:  # fmt: skip
        """`counter` is 0 before and after each launch: blocks take whatever rows are next."""
        cl.griddepcontrol_launch_dependents()
        warp, number = cl.thread_idx.x // WARP, i32(cl.block_idx.x)
        steps, count = i32(K // (WIDE * DEPTH)), i32(N // HIGH)
        held, parts, told = cl.make_rmem_tensor(dtype, few.kept), cl.shared(f32, laid), cl.shared(i32, (1,))
        held.fill(0.0)
        if few.early:
            if warp < steps:
                few.fetch(w, held, N, number, warp)
            few.ask(w, N, warp)
        cl.griddepcontrol_wait()
        if not few.early and warp < steps:
            few.fetch(w, held, N, number, warp)
        rows_of_x = x if factors is None else few.normed(x, factors, eps, columns)
        while number < count:
            ticket = i32(0)
            if cl.thread_idx.x == 0:
                ticket = cl.atomic_add(counter, 0, 1)
            sums, left, step = cl.make_rmem_tensor(f32, cl.make_layout((4, tiles))), held.load(), i32(warp)
            sums.fill(0.0)
            while step + WARPS < steps:
                few.fetch(w, held, N, number, step + WARPS)
                few.add_up(left, rows_of_x, step, sums)
                left, step = held.load(), step + WARPS
            if cl.thread_idx.x == 0:
                told[0] = ticket + i32(cl.grid_dim.x)
                clear_counter(counter, ticket, count)
            cl.syncthreads()  # all have read the sums of the rows before, too
            later = told[0]
            if later < count and warp < steps:
                few.fetch(w, held, N, later, warp)
            if warp < steps:
                few.add_up(left, rows_of_x, step, sums)
            few.lay(sums, parts)
            cl.syncthreads()
            few.write(parts, number, gate, out, add)
            number = later

    return product


def fits(rows: int, k: int, n: int, normed: bool = False) -> bool:
    """Tell whether `linear_of_few` takes `rows` rows of x, depth `k`, `n` results, and if `normed` their norm."""
    room = not normed or k <= SHORT or rows * k <= HELD
    return 0 < rows <= MOST and k > 0 and k % (WIDE * DEPTH) == 0 and n % HIGH == 0 and room


@planned_alone()
def linear_of_few(
    x: Any, weight: Any, out: Any = None, *, add: Any = None, norm: Any = None, eps: float = 0.0,
    gate: str | None = None, early: bool = False,
) -> Any:  # fmt: skip
    """Multiply few rows: ``x @ weight.T + add``, of the RMSNorm of x, or a gate of it.

    x       (..., K), bf16 or f16, of 1 to 8 rows in all; K is a multiple of 64
    weight  (N, K), N a multiple of 16; with `gate` (2 N, K), the rows of the gate and then those of `up`
    add     (..., N), added before the result is rounded
    norm    (K,): factors of an RMSNorm of x's rows, bf16, f16 or f32; `eps` is added to the mean of squares
    gate    'silu', 'gelu', 'gelu_tanh' or 'relu': the result is ``activation(gate) * up``
    out     (..., N), where to write
    early   weight is there before the kernel ahead of this one has ended, as parameters are: blocks load it already
    Errors  `cl.ArgumentError` for arrays that do not fit
    """
    given = Arguments()
    if gate is not None:
        one_of("gate", gate, gates.ACTIVATIONS)
    given.array("x", x, HALVES, "... K", rows=True)
    k, lead = int(x.shape[-1]), tuple(x.shape[:-1])
    given.array("weight", weight, "x", "ROWS K", rows=True)
    parts = 1 if gate is None else 2
    n = int(weight.shape[0]) // parts
    out = given.result(out, x, "x", (*lead, n), rows=True)
    if add is not None:
        given.array("add", add, "x", (*lead, n), rows=True)
    if norm is not None:
        given.array("norm", norm, (*HALVES, "f32"), (k,), dense=True)
    eps = as_number("eps", eps)
    rows = prod(lead)
    flat = x.reshape((rows, k))
    if not fits(rows or 1, k, n or HIGH, norm is not None) or int(weight.shape[0]) != n * parts:
        raise ArrayError(
            f"x is {tuple(x.shape)} and weight {tuple(weight.shape)}: at most {MOST} rows, K a multiple of "
            f"{WIDE * DEPTH}, results of {HIGH} columns; with a norm K up to {SHORT}, or {HELD} elements"
        )
    if left_out() or 0 in (rows, n):
        return out
    result = reshaped(out, (rows, n))
    normed = None if norm is None else (DTYPES[code_of(norm)], k)
    few = Few(DTYPES[code_of(x)], rows, normed, gate, early)
    check_given_apart(out, x=x, weight=weight, norm=norm)
    check_in_place("out", rt.read(out), {} if add is None else {"add": rt.read(add)})
    added = None if add is None else add.reshape((rows, n))
    launch = cl.Launch(min(clusters_at_once(1, x), n // HIGH), THREADS, pdl=True)
    build(few)[launch](flat, weight, result, added, norm, eps, counter(x))
    return out
