"""c = a + b on fragments: (thread, value) layouts distribute tiles, 16 bytes an access; edges are predicated.

CuTe DSL's introductory kernel in cutelite's words: docs/from-cute-dsl.md sets the two side by side.
"""

import cutelite as cl
from common import check, poisoned, random, to_numpy
from cutelite import Tensor, f16

M, N = cl.dims("M N:8")

THREADS, VALUES = cl.make_layout((4, 32), stride=(32, 1)), cl.make_layout((4, 8), stride=(8, 1))
TILE = 16, 256
ADD = cl.make_tiled_copy_tv(cl.make_copy_atom(cl.CopyUniversalOp(bits=128), f16), THREADS, VALUES)


@cl.kernel(block=128)
def add(a: Tensor[f16, (M, N)], b: Tensor[f16, (M, N)], c: Tensor[f16, (M, N)]) -> None:
    where = cl.block_idx.x, cl.block_idx.y
    mine = ADD.get_slice(cl.thread_idx.x)
    left = mine.partition_S(cl.local_tile(a, TILE, where))
    right = mine.partition_S(cl.local_tile(b, TILE, where))
    out = mine.partition_D(cl.local_tile(c, TILE, where))
    places = mine.partition_D(cl.local_tile(cl.make_identity_tensor(c.shape), TILE, where))

    rows = cl.size(left) // 8  # of 8 values each, one instruction
    inside = cl.make_rmem_tensor(cl.boolean, (rows,))
    for i in cl.static_range(rows):
        inside[i] = cl.elem_less(places[i * 8], c.shape)
    x, y = cl.make_fragment_like(left), cl.make_fragment_like(right)
    cl.clear(x)
    cl.clear(y)
    cl.copy(ADD, left, x, pred=inside)
    cl.copy(ADD, right, y, pred=inside)
    x.store(x.load() + y.load())
    cl.copy(ADD, x, out, pred=inside)


def main(m: int = 100, n: int = 1000) -> None:
    a, b = random(m, n, dtype="float16", seed=1), random(m, n, dtype="float16", seed=2)
    c = poisoned(m, n, dtype="float16")
    add[(-(-m // TILE[0]), -(-n // TILE[1])), 128](a, b, c)
    check(f"add {m} x {n}", c, (to_numpy(a) + to_numpy(b)).astype("float16").astype("float64"), 1e-3)


if __name__ == "__main__":
    main()
