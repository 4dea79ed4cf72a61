"""The second kernel of a GEMM whose tiles several blocks share: examples/gemm.py with splits."""

# mypy: disable-error-code="valid-type, name-defined, index"
# pyright: reportInvalidTypeForm=false, reportGeneralTypeIssues=false, reportAttributeAccessIssue=false
# (kernels are made for types that no annotation can say to a checker)

from functools import cache
from typing import Any

import cutelite as cl
from cutelite import Tensor, f32
from gemm_configs import Problem

THREADS = 128
M = cl.Dim("M")


@cache
def build_sum(problem: Problem, splits: int) -> Any:
    """The kernel that adds up what `splits` blocks found for each tile, and finishes it. A row of blocks for a row."""
    V = 16 // problem.d.bytes
    P, R, COLUMNS = cl.dims(f"P R N:{V}")
    NUMBERS, OUT = Tensor[f32, (None,)], Tensor[problem.d, (R, COLUMNS)]

    @cl.kernel(block=THREADS)
    def kernel(
        parts: Tensor[f32, (P, M, COLUMNS)], d: OUT, c: OUT | None,
        bias: Tensor[problem.bias or f32, (COLUMNS,)] | None, scale_a: NUMBERS | None, scale_b: NUMBERS | None,
        alpha: f32, beta: f32,
    ) -> None:  # fmt: skip
        place = cl.block_idx.x * THREADS + cl.thread_idx.x
        row, m = cl.block_idx.y, cl.block_idx.y % M
        cl.griddepcontrol_wait()
        if place < COLUMNS // V:
            x = cl.full((V,), 0.0, f32)
            for s in cl.static_range(splits):
                x = x + cl.local_tile(parts[row // M * splits + s, m, None], (V,), (place,)).load()
            x = x * alpha
            if scale_a is not None:
                x = x * scale_a[m if problem.rowwise else 0]
            if scale_b is not None:
                x = x * (cl.local_tile(scale_b, (V,), (place,)).load() if problem.rowwise else scale_b[0])
            if c is not None:
                x = x + cl.local_tile(c[row, None], (V,), (place,)).load().to(f32) * beta
            if bias is not None:
                x = x + cl.local_tile(bias, (V,), (place,)).load().to(f32)
            x = x if problem.activation is None else problem.activation(x)
            cl.local_tile(d[row, None], (V,), (place,)).store(x.to(problem.d))

    return kernel


def add_up(problem: Problem, splits: int, parts: Any, d: Any, c: Any, bias: Any, *more: Any) -> None:
    """Launch it. parts: (batches * splits, M, N) in f32; the rest as `run` of examples/gemm.py takes it."""
    n = d.shape[-1]
    rows, more_rows = d.reshape(-1, n), None if c is None else c.reshape(-1, n)
    columns = -(-n * problem.d.bytes // (16 * THREADS))
    launch = cl.Launch((columns, rows.shape[0]), THREADS, pdl=True)
    build_sum(problem, splits)[launch](parts, rows, more_rows, bias, *more)
