"""c = a @ b on the CUDA cores: tiles in shared memory, an 8 x 8 block of results in each thread's registers."""

import cutelite as cl
from common import check, poisoned, random, to_numpy
from cutelite import Tensor, f32

M, N, K = cl.dims("M N K")

TILE, DEPTH, SIDE = 128, 8, 8
THREADS = (TILE // SIDE) ** 2


@cl.kernel(block=THREADS)
def matmul(a: Tensor[f32, (M, K)], b: Tensor[f32, (K, N)], c: Tensor[f32, (M, N)]) -> None:
    a_tile = cl.shared(f32, (DEPTH, TILE))  # transposed, so that a thread's rows are neighbours
    b_tile = cl.shared(f32, (DEPTH, TILE))
    acc = cl.make_rmem_tensor(f32, (SIDE, SIDE))
    acc.fill(0.0)
    t = cl.thread_idx.x
    ty, tx = t // (TILE // SIDE), t % (TILE // SIDE)
    first_row, first_column = cl.block_idx.y * TILE, cl.block_idx.x * TILE
    for k0 in range(0, K, DEPTH):
        for i in cl.static_range(TILE * DEPTH // THREADS):
            e = t + i * THREADS
            row, k = first_row + e // DEPTH, k0 + e % DEPTH
            a_tile[e % DEPTH, e // DEPTH] = a[row, k] if row < M and k < K else 0.0
            column, k = first_column + e % TILE, k0 + e // TILE
            b_tile[e // TILE, e % TILE] = b[k, column] if column < N and k < K else 0.0
        cl.syncthreads()
        for k in cl.static_range(DEPTH):
            rows = [a_tile[k, ty * SIDE + i] for i in cl.static_range(SIDE)]
            columns = [b_tile[k, tx * SIDE + j] for j in cl.static_range(SIDE)]
            for i in cl.static_range(SIDE):
                for j in cl.static_range(SIDE):
                    acc[i, j] = acc[i, j] + rows[i] * columns[j]
        cl.syncthreads()
    for i in cl.static_range(SIDE):
        for j in cl.static_range(SIDE):
            row, column = first_row + ty * SIDE + i, first_column + tx * SIDE + j
            if row < M and column < N:
                c[row, column] = acc[i, j]


def main(m: int = 150, n: int = 130, k: int = 33) -> None:
    a, b, c = random(m, k, seed=1), random(k, n, seed=2), poisoned(m, n)
    matmul[(-(-n // TILE), -(-m // TILE)), THREADS](a, b, c)
    check(f"matmul {m} x {n} x {k}", c, to_numpy(a) @ to_numpy(b), 1e-6)


if __name__ == "__main__":
    main()
