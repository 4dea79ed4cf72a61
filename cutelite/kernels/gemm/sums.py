"""The second kernel of a GEMM: adds up tiles that several blocks share, and writes rows that TMA would write beyond."""

from functools import cache
from math import gcd
from typing import Any

import cutelite as cl
import cutelite_rt as rt
from cutelite import Tensor, f32
from cutelite.kernels.gemm.configs import Problem
from cutelite.lang.given import given_by
from cutelite.target import TARGETS

THREADS = 128
ROWS_AT_MOST = TARGETS["sm_90a"].max_grid[1]  # of blocks in a grid


@cache
def build_sum(problem: Problem, splits: int, V: int, ACROSS: int) -> Any:
    """Make the kernel that adds up the sums of `splits` blocks of each tile, and finishes them.

    V       elements that a thread finishes; what N and all strides are multiples of
    ACROSS  threads of a block along a row
    """
    P, L, M, N, *S = cl.dims(f"P L M N:{V} PL:{V} PM:{V} DL:{V} DM:{V} CL:{V} CM:{V}")
    NUMBERS, OUT, ADDED = Tensor[f32, (None,)], *(Tensor[problem.d, (L, M, N), (*s, 1)] for s in (S[2:4], S[4:]))

    @cl.kernel(block=THREADS)
    def kernel(
        parts: Tensor[problem.acc, (P, M, N), (*S[:2], 1)], d: OUT, c: ADDED | None,
        bias: Tensor[problem.bias or f32, (N,)] | None, scale_a: NUMBERS | None, scale_b: NUMBERS | None,
        alpha: f32, beta: f32,
    ) -> None:  # fmt: skip
        fused = cl.Fused(c, bias, cl.Scales(scale_a, scale_b), alpha, beta, problem.activation)
        place = cl.block_idx.x * ACROSS + cl.thread_idx.x % ACROSS
        cl.griddepcontrol_wait()
        if place < N // V:
            down = THREADS // ACROSS
            for row in range(cl.block_idx.y * down + cl.thread_idx.x // ACROSS, M, cl.grid_dim.y * down):
                write(parts, d, fused, place, row, cl.block_idx.z)

    def write(parts: Any, d: Any, fused: cl.Fused, place: Any, m: Any, batch: Any) -> None:
        """Write V results of row `m`: the group of columns with number `place`."""
        x = cl.local_tile(parts[batch * splits, m, None], (V,), (place,)).load()
        for s in cl.static_range(1, splits):
            x = x + cl.local_tile(parts[batch * splits + s, m, None], (V,), (place,)).load()
        if not problem.d.is_int:
            x = finished(x, fused, place, m, batch)
        cl.local_tile(d[batch, m, None], (V,), (place,)).store(x.to(problem.d))

    def finished(x: Any, fused: cl.Fused, place: Any, m: Any, batch: Any) -> Any:
        """Return the results of sums."""
        rows, columns = fused.scales.a, fused.scales.b
        x = x.to(f32) * fused.alpha
        if rows is not None:
            x = x * rows[m if problem.rowwise else 0]
        if columns is not None:
            x = x * (cl.local_tile(columns, (V,), (place,)).load() if problem.rowwise else columns[0])
        if fused.c is not None:
            x = x + cl.local_tile(fused.c[batch, m, None], (V,), (place,)).load().to(f32) * fused.beta
        if fused.bias is not None:
            x = x + cl.local_tile(fused.bias, (V,), (place,)).load().to(f32)
        return x if fused.activation is None else given_by("activation", fused.activation(x), x, fused.activation)

    return kernel


def add_up(problem: Problem, splits: int, parts: Any, d: Any, fused: cl.Fused) -> None:
    """Launch the kernel that adds up parts.

    parts  (batches * splits, M, N) of `problem.acc`
    d      (M, N), or with batches in front; C likewise
    """
    d, c = (x if x is None or x.ndim == 3 else x[None] for x in (d, fused.c))
    batches, m, n = d.shape
    steps = [n, *(step for x in (parts, d, c) if x is not None for step in rt.read(x).strides[:-1])]
    vector = gcd(16 // problem.d.bytes, *steps)
    across = next((some for some in (8, 16, 32, 64) if n <= some * vector), THREADS)
    grid = -(-n // (vector * across)), min(-(-m * across // THREADS), ROWS_AT_MOST), batches
    launch, scales = cl.Launch(grid, THREADS, pdl=True), fused.scales
    kernel = build_sum(problem, splits, vector, across)
    kernel[launch](parts, d, c, fused.bias, scales.a, scales.b, fused.alpha, fused.beta)
