"""out = x.T in f32: TMA loads tiles into shared memory, with a swizzle that is computed from how threads read them.

Each thread reads 16 bytes of a row, neighbours in neighbouring rows, so that they write whole rows of the result. Rows
are 128 bytes apart: without a swizzle all reads of a warp would be in a few banks. `synthesize_swizzle` searches TMA's
swizzles for one that is free of conflicts, and proves that it is.

Blocks that run at once turn a few strips of columns into whole rows of the result. Neighbouring strips are in the same
few memory channels if rows of x are a large power of two apart, so every other strip is from the right half of x.
"""

import cutelite as cl
from common import check, poisoned, random, to_numpy
from cutelite import Tensor, TmaTensor, f32
from cutelite.layout import synthesize_swizzle

M, N = cl.dims("M N:4")

ROWS, COLUMNS, BOX = 64, 128, (16, 32)  # a tile of x, and the boxes in which TMA loads it
THREADS = 256
BY_COLUMNS = cl.make_layout((32, THREADS // 32)), cl.make_layout((1, 4))  # threads down the rows, and their values

READ = cl.make_layout((32, 4), stride=(BOX[1], 1))  # what a warp reads at once: (thread, value) to an element of a box
SWIZZLE = synthesize_swizzle([(READ, 16)], f32.bits, hopper_only=True).hopper or "none"
COPY = cl.make_tiled_copy_tv(cl.make_copy_atom(cl.CopyUniversalOp(bits=128), f32), *BY_COLUMNS)
LOAD = cl.make_copy_atom(cl.CopyBulkTensorTileG2SOp(), f32)
TILE = cl.tile_to_shape(cl.make_smem_layout_atom(f32, "K", SWIZZLE), (ROWS, COLUMNS))


@cl.kernel(block=THREADS)
def transpose(x: TmaTensor[f32, (M, N), BOX, SWIZZLE], out: Tensor[f32, (N, M)]) -> None:
    tile = cl.shared(f32, TILE)
    full = cl.shared(cl.mbarrier, (1,))
    side, strip = cl.block_idx.y % 2, cl.block_idx.y // 2
    where = cl.block_idx.x, side * (cl.grid_dim.y // 2) + strip
    if where[1] * COLUMNS >= N:
        return
    if cl.thread_idx.x == 0:
        full[0].init(1)
        cl.fence_mbarrier_init()
        full[0].arrive_expect_tx(tile.nbytes)
        cl.copy(LOAD, cl.local_tile(cl.coordinates(x), (ROWS, COLUMNS), where), tile, barrier=full[0])
    cl.syncthreads()

    mine = COPY.get_slice(cl.thread_idx.x)
    source = mine.partition_S(tile)
    values = cl.make_fragment_like(source)
    target = mine.partition_D(cl.local_tile(cl.select(out, (1, 0)), (ROWS, COLUMNS), where))
    full[0].wait(0)
    cl.copy(COPY, source, values)
    if (where[0] + 1) * ROWS <= M and (where[1] + 1) * COLUMNS <= N:
        cl.copy(values, target)
    else:
        places = mine.partition_D(cl.local_tile(cl.make_identity_tensor(x.shape), (ROWS, COLUMNS), where))
        for i in cl.static_range(cl.size(values)):
            if cl.elem_less(places[i], x.shape):
                target[i] = values[i]


def grid(m: int, n: int) -> tuple[int, int]:
    """Return the grid: a block for each tile, with strips in pairs."""
    return -(-m // ROWS), 2 * -(-n // (2 * COLUMNS))


def main(m: int = 100, n: int = 300) -> None:
    x, out = random(m, n), poisoned(n, m)
    transpose[grid(m, n), THREADS](x, out)
    check(f"transpose of {m} x {n}, swizzled {SWIZZLE}", out, to_numpy(x).T, 0.0)


if __name__ == "__main__":
    main()
