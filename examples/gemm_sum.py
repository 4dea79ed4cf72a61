"""The second kernel of a GEMM whose tiles several blocks share: examples/gemm.py with splits."""

# mypy: disable-error-code="valid-type, name-defined, index"
# pyright: reportInvalidTypeForm=false, reportGeneralTypeIssues=false, reportAttributeAccessIssue=false
# (kernels are made for types that no annotation can say to a checker)

from functools import cache
from typing import Any

import cutelite as cl
import cutelite_rt as rt
from cutelite import Tensor, f32
from gemm_configs import Problem

THREADS = 128


@cache
def build_sum(problem: Problem, splits: int, V: int) -> Any:
    """The kernel that adds up what `splits` blocks found for each tile, and finishes it. A row of blocks for a row.

    V  elements that a thread finishes; what N and all strides are multiples of
    """
    P, L, M, N, *S = cl.dims(f"P L M N:{V} PL:{V} PM:{V} DL:{V} DM:{V} CL:{V} CM:{V}")
    NUMBERS, OUT, ADDED = Tensor[f32, (None,)], *(Tensor[problem.d, (L, M, N), (*s, 1)] for s in (S[2:4], S[4:]))

    @cl.kernel(block=THREADS)
    def kernel(
        parts: Tensor[f32, (P, M, N), (*S[:2], 1)], d: OUT, c: ADDED | None,
        bias: Tensor[problem.bias or f32, (N,)] | None, scale_a: NUMBERS | None, scale_b: NUMBERS | None,
        alpha: f32, beta: f32,
    ) -> None:  # fmt: skip
        place = cl.block_idx.x * THREADS + cl.thread_idx.x
        m, batch = cl.block_idx.y, cl.block_idx.z
        cl.griddepcontrol_wait()
        if place < N // V:
            x = cl.full((V,), 0.0, f32)
            for s in cl.static_range(splits):
                x = x + cl.local_tile(parts[batch * splits + s, m, None], (V,), (place,)).load()
            x = x * alpha
            if scale_a is not None:
                x = x * scale_a[m if problem.rowwise else 0]
            if scale_b is not None:
                x = x * (cl.local_tile(scale_b, (V,), (place,)).load() if problem.rowwise else scale_b[0])
            if c is not None:
                x = x + cl.local_tile(c[batch, m, None], (V,), (place,)).load().to(f32) * beta
            if bias is not None:
                x = x + cl.local_tile(bias, (V,), (place,)).load().to(f32)
            x = x if problem.activation is None else problem.activation(x)
            cl.local_tile(d[batch, m, None], (V,), (place,)).store(x.to(problem.d))

    return kernel


def add_up(problem: Problem, splits: int, parts: Any, d: Any, c: Any, *more: Any) -> None:
    """Launch it. parts: (batches * splits, M, N) in f32; the rest as `run` of examples/gemm.py takes it."""
    d, c = (x if x is None or x.ndim == 3 else x[None] for x in (d, c))
    batches, m, n = d.shape
    vector = 16 // problem.d.bytes
    steps = [n, *(step for x in (parts, d, c) if x is not None for step in rt.read(x).strides[:-1])]
    vector = vector if all(step % vector == 0 for step in steps) else 1
    launch = cl.Launch((-(-n // (vector * THREADS)), m, batches), THREADS, pdl=True)
    build_sum(problem, splits, vector)[launch](parts, d, c, *more)
