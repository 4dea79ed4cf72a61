"""Cross entropy of a linear layer, whose GEMM stores powers in place of logits: no kernel goes over these any more.

    top = x @ weight[target]                                 # of each row
    e, sums = exp(x @ weight.T - top), and a row's sums      # the epilogue of the GEMM
    total = sums.sum()
    loss, factor, e[target] = log(total), gradient / total, 1 - total
    dx, dw = factor * (e @ weight), e.T @ (factor * x)       # as logits' gradients are e * factor

All is in powers of 2. A power is as exact, relative to itself, as the gradient of a logit, which it replaces. Where a
logit is so far above the target's that powers overflow, the row is computed anew, from its greatest logit.
"""

from functools import cache
from typing import Any

import cutelite as cl
from cutelite import Finish, Tensor, bf16, f32, i32, i64
from cutelite.kernels.arrays import empty
from cutelite.kernels.gemm import gemm
from cutelite.kernels.rows.plan import pitches

M, N, S = cl.dims("M N S")  # rows, words, pieces of a row
P, X, W = pitches("P X W", 8)  # of powers, of x and of the weight
THREADS, WARPS, VECTOR, PIECE = 256, 8, 8, 64
LN2 = 0.6931471805599453
LOWEST = -3.0e38
MOST = 2.0**96
"""A sum of powers above which a row is computed anew: f32 has to hold sums of powers times weights."""


def powers(piece: Any, tops: Any, sums: Any) -> None:
    """Store a piece's powers, and the sums of its rows (the function of `Finish`)."""
    e = cl.math.exp2(piece.sums * (1.0 / LN2) - piece.by_row(tops), fast=True)
    piece.put_rows(sums, piece.of_rows(e))
    piece.result(e)


def logit(x: Any, weight: Any) -> Any:
    """Return the product of two rows, in powers of 2. Who: a warp."""
    total = f32(0.0)
    for i in range(cl.thread_idx.x % 32, x.shape[0] // VECTOR, 32):
        a, b = (cl.local_tile(row, (VECTOR,), (i,)).load().to(f32) for row in (x, weight))
        total = total + (a * b).reduce("sum")
    return cl.warp_reduce(total, "add") * (1.0 / LN2)


@cache
def of_targets(k: int) -> Any:
    """Make the kernel that computes the targets' logits, a warp for each row: 0 where the target is no word."""

    @cl.kernel(block=THREADS)
    def target_logits(
        x: Tensor[bf16, (M, k), (X, 1), cl.align(16)], weight: Tensor[bf16, (N, k), (W, 1), cl.align(16)],
        targets: Tensor[i64, (M,)], tops: Tensor[f32, (M,)],
    ) -> None:  # fmt: skip
        row = i32(cl.block_idx.x) * WARPS + cl.thread_idx.x // 32
        if row < M:
            target, top = targets[row], f32(0.0)
            if target >= 0 and target < N:
                top = logit(x[row, None], weight[target, None])
            if cl.thread_idx.x % 32 == 0:
                tops[row] = top

    return target_logits


def again(e: Any, x: Any, weight: Any, team: Any) -> tuple[Any, Any]:
    """Write a row's powers once more, below its greatest logit. Return that logit, and the sum. Who: a block."""
    warp, lane, top, total = cl.thread_idx.x // 32, cl.thread_idx.x % 32, f32(LOWEST), f32(0.0)
    for word in range(warp, i32(N), WARPS):
        top = max(top, logit(x, weight[word, None]))
    top = team.reduce(top, "max")
    for word in range(warp, i32(N), WARPS):
        power = cl.math.exp2(logit(x, weight[word, None]) - top, fast=True)
        if lane == 0:
            e[word], total = power.to(bf16), total + power
    return top, team.reduce(total, "add")


@cache
def closing(k: int) -> Any:
    """Make the kernel that finishes rows, a block each: losses, the targets' powers, factors, and x times these."""

    @cl.kernel(block=THREADS)
    def close(
        e: Tensor[bf16, (M, N), (P, 1)], sums: Tensor[f32, (M, S)], tops: Tensor[f32, (M,)], targets: Tensor[i64, (M,)],
        gradients: Tensor[f32, (M,)], x: Tensor[bf16, (M, k), (X, 1), cl.align(16)],
        weight: Tensor[bf16, (N, k), (W, 1), cl.align(16)], losses: Tensor[f32, (M,)], lses: Tensor[f32, (M,)],
        factors: Tensor[f32, (M,)], scaled: Tensor[bf16, (M, k), cl.align(16)], ignore: i64,
    ) -> None:  # fmt: skip
        row, thread, team, mine = cl.block_idx.x, cl.thread_idx.x, cl.Team.create(THREADS), f32(0.0)
        target, own = targets[row], tops[row]
        for i in range(thread, S, THREADS):
            mine = mine + sums[row, i]
        total, top = team.reduce(mine, "add"), own
        if total > MOST:
            top, total = again(e[row, None], x[row, None], weight, team)
        counts, is_word = target != ignore, (target >= 0) & (target < N)
        total = max(total, cl.where(is_word, cl.math.exp2(own - top), 0.0))  # not less by what was rounded
        factor = cl.where(counts, gradients[row] / total, 0.0)
        for i in range(thread, k // VECTOR, THREADS):
            held = cl.local_tile(x[row, None], (VECTOR,), (i,)).load().to(f32) * factor
            cl.local_tile(scaled[row, None], (VECTOR,), (i,)).store(held.to(bf16))
        cl.syncthreads()  # powers that were computed anew are written
        if thread == 0:
            lse = top + cl.math.log2(total)
            losses[row] = cl.where(counts, (lse - own) * LN2, 0.0)
            lses[row], factors[row] = lse * LN2, factor
            if is_word:
                e[row, target] = (cl.math.exp2(own - top) - total).to(bf16)

    return close


def gradients(
    x: Any, weight: Any, targets: Any, gradient: Any, ignore: int, rows: int, losses: Any, lses: Any, dx: Any, dw: Any
) -> None:  # fmt: skip
    """Compute losses of rows, and gradients of x and of the weight, as `linear_cross_entropy`.

    rows                  how many rows' powers are in memory at a time
    losses, lses, dx, dw  where to write; `dw` of any dtype of results
    """
    (m, k), n = x.shape, weight.shape[0]
    room, tops, factors = empty(x, (min(rows, m), n)), empty(x, (m,), "f32"), empty(x, (m,), "f32")
    of_targets(k)[-(-m // WARPS)](x, weight, targets, tops)
    for first in range(0, m, rows):
        part = slice(first, min(first + rows, m))
        own, count = x[part], part.stop - first
        e, sums, scaled = room[:count], empty(x, (count, -(-n // PIECE)), "f32"), empty(x, (count, k))
        gemm(own, weight.T, e, finish=Finish(powers, (tops[part], sums), PIECE))
        closing(k)[count](
            e, sums, tops[part], targets[part], gradient[part], own, weight, losses[part], lses[part], factors[part],
            scaled, ignore,
        )  # fmt: skip
        gemm(e, weight, dx[part], scale_a=factors[part].reshape((count, 1)))
        gemm(e.T, scaled, dw, c=dw if first else None, beta=1.0 if first else 0.0)
