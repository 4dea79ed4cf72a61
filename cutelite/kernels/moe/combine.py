"""Weighted sums over the choices of each token: bring rows of experts back to their tokens."""

from functools import cache
from typing import Any

import cutelite as cl
from cutelite import Tensor, f32, i32
from cutelite.dispatch.divert import left_out
from cutelite.kernels.arguments import FLOATS, Arguments
from cutelite.kernels.arrays import code_of
from cutelite.kernels.planning import planned_alone
from cutelite.kernels.rows.arrays import DTYPES

T, M, N = cl.dims("T M N:8")  # tokens, sorted rows, columns
THREADS, VECTOR = 128, 8


@cache
def build(dtype: Any, k: int, weight: Any) -> Any:
    """Make the kernel: a thread has eight columns of a token. `weight`: the dtype of weights, or None for sums."""

    @cl.kernel(block=THREADS)
    def combine(
        x: Tensor[dtype, (M, N)], place: Tensor[i32, (T, k)], weights: Tensor[weight or f32, (T, k)] | None,
        out: Tensor[dtype, (T, N)],
    ) -> None:  # fmt: skip
        tiles = cl.ceil_div(N, THREADS * VECTOR)
        token, across = cl.block_idx.x // tiles, cl.block_idx.x % tiles * THREADS + cl.thread_idx.x
        cl.griddepcontrol_launch_dependents()
        cl.griddepcontrol_wait()
        if across * VECTOR < N:
            found = cl.make_rmem_tensor(dtype, (VECTOR, k))
            known = []  # of each choice: whether it has a row
            for j in cl.static_range(k):  # all are under way at once
                row = place[token, j]
                known.append((row >= 0) & (row < M))
                found[None, j].store(cl.full((VECTOR,), 0, dtype))
                if known[j]:
                    found[None, j].store(cl.local_tile(x[row, None], (VECTOR,), (across,)).load())
            total = cl.full((VECTOR,), 0.0, f32)
            for j in cl.static_range(k):
                value = found[None, j].load().to(f32)
                if weights is not None:  # what has no row adds nothing, whatever its weight
                    value = value * cl.where(known[j], weights[token, j].to(f32), 0.0)
                total = total + value
            cl.local_tile(out[token, None], (VECTOR,), (across,)).store(total.to(dtype))

    return combine


@planned_alone()
def combine(x: Any, place: Any, weights: Any = None, *, out: Any = None) -> Any:
    """Compute ``sum(weights[t, j] * x[place[t, j]] for j)`` for every token t, in f32.

    x        (rows, n) bf16, f16 or f32, row-major; n a multiple of 8
    place    (tokens, k) i32; a number that is no row's, such as -1, counts as a row of zeros
    weights  (tokens, k), f32, bf16 or f16; None: ones
    out      (tokens, n); made where it is not given
    Errors   `cl.ArgumentError` for other arrays
    """
    given = Arguments()
    given.array("x", x, FLOATS, "M N", dense=True)
    given.array("place", place, "i32", "T K", dense=True)
    if weights is not None:
        given.array("weights", weights, FLOATS, "T K", dense=True)
    dtype, (tokens, k), n = DTYPES[code_of(x)], map(int, place.shape), int(x.shape[1])
    weight = None if weights is None else DTYPES[code_of(weights)]
    if n % VECTOR:
        raise cl.ArgumentError(f"x has rows of {n} elements, which are no multiple of {VECTOR}")
    out = given.result(out, x, "x", "T N", dense=True, apart={"x": x, "place": place, "weights": weights})
    if left_out() or 0 in (tokens, n):
        return out
    if not k or not x.shape[0]:
        out[...] = 0
    else:
        blocks = tokens * -(-n // (THREADS * VECTOR))
        build(dtype, k, weight)[cl.Launch(blocks, THREADS, pdl=True)](x, place, weights, out)
    return out
