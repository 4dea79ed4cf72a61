"""b = a in tiles, each thread moving 16 bytes at a time, as (thread, value) layouts say; edges are predicated.

A tile goes through swizzled shared memory: in by cp.async, which writes zeros for elements outside, and out again.
"""

import cutelite as cl
from common import check, poisoned, random, to_numpy
from cutelite import Tensor, f16

M, N = cl.dims("M N:8")

ROWS, COLUMNS = 64, 64
THREADS = 128
BY_ROWS = cl.make_layout((16, 8), stride=(8, 1)), cl.make_layout((1, 8))  # threads, and each one's values
COPY_IN = cl.make_tiled_copy_tv(cl.make_copy_atom(cl.CopyG2SOp(bits=128), f16), *BY_ROWS)
COPY_OUT = cl.make_tiled_copy_tv(cl.make_copy_atom(cl.CopyUniversalOp(bits=128), f16), *BY_ROWS)


@cl.kernel(block=THREADS)
def copy_tiles(a: Tensor[f16, (M, N)], b: Tensor[f16, (M, N)]) -> None:
    where = cl.block_idx.x, cl.block_idx.y
    tile = ROWS, COLUMNS
    source, target = cl.local_tile(a, tile, where), cl.local_tile(b, tile, where)
    places = cl.local_tile(cl.make_identity_tensor(a.shape), tile, where)
    buffer = cl.shared(f16, cl.make_smem_layout(f16, tile))

    mine, out = COPY_IN.get_slice(cl.thread_idx.x), COPY_OUT.get_slice(cl.thread_idx.x)
    coordinates = mine.partition_S(places)  # (8 values, rows, columns): the first of the 8 decides for all
    inside = cl.make_rmem_tensor(cl.boolean, cl.make_layout(coordinates.shape[1:]))
    for i in cl.static_range(cl.size(inside)):
        inside[i] = cl.elem_less(coordinates[0, i % cl.size(inside, 0), i // cl.size(inside, 0)], a.shape)

    cl.copy(COPY_IN, mine.partition_S(source), mine.partition_D(buffer), pred=inside)
    cl.cp_async_wait_all()
    cl.syncthreads()
    cl.copy(COPY_OUT, out.partition_S(buffer), out.partition_D(target), pred=inside)


def main(m: int = 100, n: int = 200) -> None:
    a, b = random(m, n, dtype="float16"), poisoned(m, n, dtype="float16")
    copy_tiles[(-(-m // ROWS), -(-n // COLUMNS)), THREADS](a, b)
    check(f"tiled copy of {m} x {n}", b, to_numpy(a), 0.0)


if __name__ == "__main__":
    main()
