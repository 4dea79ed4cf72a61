"""c = a + b, the smallest kernel."""

import cutelite as cl
from common import check, poisoned, random, to_numpy
from cutelite import Tensor, f32

N = cl.dims("N")


@cl.kernel(block=256)
def vector_add(a: Tensor[f32, (N,)], b: Tensor[f32, (N,)], c: Tensor[f32, (N,)]) -> None:
    i = cl.block_idx.x * cl.block_dim.x + cl.thread_idx.x
    if i < N:
        c[i] = a[i] + b[i]


def main(n: int = 10_007) -> None:
    a, b, c = random(n, seed=1), random(n, seed=2), poisoned(n)
    vector_add[-(-n // 256), 256](a, b, c)
    check(f"vector_add {n}", c, to_numpy(a) + to_numpy(b), 1e-7)


if __name__ == "__main__":
    main()
