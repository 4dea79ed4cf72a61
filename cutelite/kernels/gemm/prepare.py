"""A kernel that computes A before a GEMM, by a function of the elements in memory: `cutelite.Prepare`."""

from __future__ import annotations

from functools import cache
from math import gcd
from typing import Any

import cutelite as cl
import cutelite_rt as rt
from cutelite import Chunk, Prepare, Tensor
from cutelite.kernels.arrays import dtype_of, empty
from cutelite.lang.given import given_by

M, K = cl.dims("M K")
ROWS, COLUMNS, THREADS = 64, 64, 128  # of a chunk, and of the block that makes it


@cache
def build(dtype: Any, made: Any, prepare: Prepare, kinds: tuple[tuple[str, int, int], ...], apart: int) -> Any:
    """Make the kernel: a block makes a chunk.

    dtype, made  of what is in memory, and of A
    kinds        of the function's tensors, as `Problem.beside` has them
    apart        what rows in memory are a multiple of elements apart
    """
    tensors = tuple[tuple(beside(number, *kind) for number, kind in enumerate(kinds))]  # type: ignore[misc]

    @cl.kernel(block=THREADS)
    def prepared(
        source: Tensor[dtype, (M, K), (cl.Dim("P", apart), 1)], a: Tensor[made, (M, K)], tensors: tensors | None
    ) -> None:
        cl.griddepcontrol_launch_dependents()
        cl.griddepcontrol_wait()
        across = cl.ceil_div(K, COLUMNS)
        row, column = cl.block_idx.x // across * ROWS, cl.block_idx.x % across * COLUMNS
        nothing = cl.full((ROWS * COLUMNS // THREADS,), 0.0, cl.f32)
        chunk = Chunk(nothing, row, column, (M, K), cl.thread_idx.x)
        (down, right), groups = chunk.place, COLUMNS // 8
        found = cl.make_rmem_tensor(made, cl.make_layout((2, 2, groups)))
        known = Chunk(chunk.inside(chunk.by_element(source)), row, column, (M, K), cl.thread_idx.x)
        values = prepare.function(known, *(tensors or ()))
        found.store(given_by("prepare", values, known.values, prepare.function).to(made))
        for i in cl.static_range(2):
            for j in cl.static_range(groups):
                if row + down + 8 * i < M and column + 8 * j + right < K:
                    pair = cl.local_tile(a[row + down + 8 * i, None], (2,), ((column + 8 * j + right) // 2,))
                    pair.store(found[None, i, j].load())

    return prepared


def beside(number: int, dtype: str, rank: int, apart: int) -> Any:
    """Return the type of a function's tensor, whose columns and whose rows' distance are multiples of `apart`."""
    steps = (cl.Dim(f"S{number}", apart),) if rank == 2 else ()
    return Tensor[dtype_of(dtype), (None,) * rank, (*steps, 1)]


def made_ahead(source: Any, b: Any, prepare: Prepare, kinds: tuple[tuple[str, int, int], ...]) -> Any:
    """Return A, (M, K) of the dtype of b, computed from `source` by a function."""
    view, a = rt.read(source), empty(b, tuple(source.shape))
    dtypes = (dtype_of(rt.read(x).dtype) for x in (source, a))
    apart = gcd(8, view.strides[0])
    grid = -(-view.shape[0] // ROWS) * -(-view.shape[1] // COLUMNS)
    function = Prepare(prepare.function)
    build(*dtypes, function, kinds, apart)[cl.Launch(grid, THREADS, pdl=True)](source, a, prepare.tensors or None)
    return a
