"""out = x.T through shared memory: both sides are read and written in whole rows, banks do not conflict."""

from typing import TypeVar

import cutelite as cl
from common import check, poisoned, random, to_numpy
from cutelite import Layout, Tensor, bf16, f16, f32

M, N = cl.dims("M N")
T = TypeVar("T", f16, bf16, f32)

TILE = 32
ROWS = 8
PADDED = Layout((TILE, TILE), (TILE + 1, 1))  # a column of the tile touches 32 different banks


@cl.kernel(block=(TILE, ROWS))
def transpose(x: Tensor[T, (M, N)], out: Tensor[T, (N, M)]) -> None:
    tile = cl.shared(x.dtype, PADDED)
    tx, ty = cl.thread_idx.x, cl.thread_idx.y
    column, first = cl.block_idx.x * TILE + tx, cl.block_idx.y * TILE
    for j in cl.static_range(0, TILE, ROWS):
        row = first + ty + j
        if row < M and column < N:
            tile[ty + j, tx] = x[row, column]
    cl.syncthreads()
    column, first = cl.block_idx.y * TILE + tx, cl.block_idx.x * TILE
    for j in cl.static_range(0, TILE, ROWS):
        row = first + ty + j
        if row < N and column < M:
            out[row, column] = tile[tx, ty + j]


def main(m: int = 100, n: int = 75, dtype: str = "float32") -> None:
    x, out = random(m, n, dtype=dtype, seed=1), poisoned(n, m, dtype=dtype)
    transpose[(-(-n // TILE), -(-m // TILE)), (TILE, ROWS)](x, out)
    check(f"transpose {m} x {n} {dtype}", out, to_numpy(x).T, 0.0)


if __name__ == "__main__":
    main()
    main(dtype="float16")
