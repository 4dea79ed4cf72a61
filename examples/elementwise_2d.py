"""out = scale * relu(x + bias): two dimensions, named extents, a bias along rows, any row stride."""

import cutelite as cl
from common import check, poisoned, random, to_numpy
from cutelite import Tensor, f32

M, N, LD = cl.dims("M N LD")

TILE = (8, 32)


@cl.kernel(block=(32, 8))
def bias_relu(
    x: Tensor[f32, (M, N), (LD, 1)],
    bias: Tensor[f32, (N,)],
    out: Tensor[f32, (M, N)],
    scale: f32,
) -> None:
    row = cl.block_idx.y * TILE[0] + cl.thread_idx.y
    column = cl.block_idx.x * TILE[1] + cl.thread_idx.x
    if row < M and column < N:
        out[row, column] = scale * max(x[row, column] + bias[column], 0.0)


def main(m: int = 65, n: int = 129) -> None:
    wide = random(m, n + 7, seed=1)
    x, bias, out = wide[:, :n], random(n, seed=2), poisoned(m, n)
    grid = (-(-n // TILE[1]), -(-m // TILE[0]))
    bias_relu[grid, (32, 8)](x, bias, out, 0.5)
    expected = 0.5 * (to_numpy(x) + to_numpy(bias)).clip(min=0)
    check(f"bias_relu {m} x {n}", out, expected, 1e-6)


if __name__ == "__main__":
    main()
