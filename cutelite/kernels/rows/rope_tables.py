"""The tables of rotary embedding: cosines and sines of positions times frequencies, twice in each row."""

from __future__ import annotations

from functools import cache
from math import prod
from typing import Any

import cutelite as cl
from cutelite import Tensor, f32
from cutelite.dispatch.divert import left_out
from cutelite.kernels.arguments import FLOATS, PLACES, Arguments, as_number, contiguous, one_of, results, underived
from cutelite.kernels.arrays import empty
from cutelite.kernels.lent import is_jax
from cutelite.kernels.planning import planned
from cutelite.kernels.rows.arrays import DTYPES, derived
from cutelite.kernels.rows.plan import after, follow

M, N = cl.dims("M N")  # tokens, angles of each
THREADS = 128


@cache
def build(dtype: Any, place: Any) -> Any:
    """Make the kernel: a thread has an angle of a token."""

    @cl.kernel(block=THREADS)
    def angles(
        positions: Tensor[place, (M,)], frequencies: Tensor[f32, (N,)], cosines: Tensor[dtype, (M, 2, N)],
        sines: Tensor[dtype, (M, 2, N)], scale: f32,
    ) -> None:  # fmt: skip
        follow()
        at = cl.block_idx.x * THREADS + cl.thread_idx.x
        row, i = at // N, at % N
        if row < M:
            sine, cosine = cl.math.sincos(positions[row].to(f32) * frequencies[i])
            for half in cl.static_range(2):
                cosines[row, half, i] = (cosine * scale).to(dtype)
                sines[row, half, i] = (sine * scale).to(dtype)

    return angles


@planned
@underived()
def rope_tables(positions: Any, frequencies: Any, dtype: str, *, scale: float = 1.0, out: Any = None) -> Any:
    """Compute ``cos(angles) * scale`` and ``sin(angles) * scale`` of ``angles = positions * frequencies``.

    positions    (...), i32 or i64
    frequencies  (n / 2,), f32
    dtype        'bf16', 'f16' or 'f32', of the results
    out          where to write, two arrays; by default new ones
    Gives        cosines and sines, (..., n): each row has its n / 2 numbers twice, one after the other
    Errors       `cl.ArgumentError` for arrays that do not fit
    """
    if (made := derived(positions, frequencies, out=out)) is not None:
        one_of("dtype", dtype, FLOATS)
        kind = dtype if is_jax(frequencies) else empty(frequencies, (0,), dtype).dtype
        return made.rope_tables(positions, frequencies, kind, scale=as_number("scale", scale))
    given = Arguments()
    given.array("positions", positions, PLACES, "...")
    given.array("frequencies", frequencies, "f32", "N/2")
    one_of("dtype", dtype, FLOATS)
    n, lead, scale = int(frequencies.shape[0]), tuple(positions.shape), as_number("scale", scale)
    kinds = dict.fromkeys(("cosines", "sines"), ((*lead, 2 * n), dtype))
    cosines, sines = results(out, kinds, frequencies=frequencies, positions=positions)
    m = prod(map(int, lead))
    if m * n and not left_out():
        place = {"i32": cl.i32, "i64": cl.i64}["i64" if "64" in str(positions.dtype) else "i32"]
        launch = after(-(-m * n // THREADS), THREADS)
        flat = (x.reshape((m, 2, n)) for x in (cosines, sines))
        positions, frequencies = contiguous(positions).reshape((m,)), contiguous(frequencies)
        build(DTYPES[dtype], place)[launch](positions, frequencies, *flat, scale)
    return cosines, sines
