# %% [markdown]
# # 5. Shared memory, swizzles and bank conflicts
#
# A transpose reads rows and writes rows; between them data must change hands. Shared memory is where threads of a
# block do that. It has 32 banks, and the layout of the tile decides whether a warp's access takes one turn or up to 32.
#
# A kernel is often made by a function, as here: what it closes over (`layout`) is a constant in the kernel.
# `cl.static_range` is a loop that is unrolled when the kernel is compiled. Each of the 8 warps moves four rows of the
# tile, `first + j`, a lane for each column.

# %%
import numpy as np

import cutelite as cl
from cutelite import Layout, Tensor, f32
from cutelite.layout import Swizzle, bank_conflicts, composition, row_major

M, N = cl.dims("M N")
TILE, THREADS = 32, 256


def transposer(layout):
    """A kernel that transposes through a tile of shared memory with this layout."""

    @cl.kernel(block=THREADS)
    def transpose(x: Tensor[f32, (M, N)], out: Tensor[f32, (N, M)]) -> None:
        tile = cl.shared(f32, layout)
        lane, first = cl.thread_idx.x % 32, cl.thread_idx.x // 32
        row, column = cl.block_idx.x * TILE, cl.block_idx.y * TILE
        for j in cl.static_range(0, TILE, THREADS // 32):
            if row + first + j < M and column + lane < N:
                tile[first + j, lane] = x[row + first + j, column + lane]
        cl.syncthreads()
        for j in cl.static_range(0, TILE, THREADS // 32):
            if column + first + j < N and row + lane < M:
                out[column + first + j, row + lane] = tile[lane, first + j]

    return transpose


x = np.random.default_rng(0).standard_normal((70, 90), dtype=np.float32)
grid = -(-x.shape[0] // TILE), -(-x.shape[1] // TILE)

plain = transposer(row_major((TILE, TILE)))
out = np.full((90, 70), np.nan, np.float32)
plain[grid, THREADS](x, out)
assert (out == x.T).all()

# %% [markdown]
# The result is right, and the reads are slow: neighbouring lanes read `tile[lane, first + j]` 32 words apart, all in
# one bank. With `notes=True`, `check` also counts what each access of a warp costs beside the least that it could:

# %%
report = plain.check(grid, THREADS, x, out, notes=True)
print(report)
assert any(note.kind == "bank-conflict" for note in report.notes)

# %% [markdown]
# (The second note comes of the size. Rows of `out` have 70 elements, so most begin within a sector of 32 bytes.)
#
# ## Two ways out
#
# *Padding*: one more word in each row, so that a column walks through the banks. *Swizzling*: XOR the row's number
# into the column's, as in [step 3](03_layouts). It takes no more memory, and TMA and the tensor cores know swizzles,
# but not padding.

# %%
padded = Layout((TILE, TILE), (TILE + 1, 1))
full = composition(Swizzle(5, 0, 5), row_major((TILE, TILE)))
hopper = composition(Swizzle(3, 2, 3), row_major((TILE, TILE)))  # TMA's and wgmma's, of 128 bytes

for layout in (row_major((TILE, TILE)), padded, full, hopper):
    column = composition(layout, Layout((TILE, 1), (1, 0)))  # thread i reads row i of column 0
    print(f"{layout!s:40} {bank_conflicts(column, bits=32).ways} ways")

kernel = transposer(padded)
out.fill(np.nan)
kernel[grid, THREADS](x, out)
assert (out == x.T).all()
notes = kernel.check(grid, THREADS, x, out, notes=True).notes
assert not any(note.kind == "bank-conflict" for note in notes)

# %% [markdown]
# Of the two swizzles, the one of five bits is free of conflicts, and the one of three bits, Hopper's, leaves 4 ways.
# Why not always the first? The compiler applies a swizzle to *addresses*, so what it permutes, 32 rows of 128 bytes,
# would have to begin at a multiple of 4096 bytes. Shared memory is aligned to 1024 bytes at most: 8 rows of 128
# bytes, which is what Hopper's largest swizzle permutes.
#
# It moves units of 16 bytes: 4 elements of f32, 8 of f16, whence the base of 2 above and of 3 below. So it is made for
# threads that access 16 bytes each. A warp does that in four turns of 8 threads, and 8 rows are what those need. Below,
# each thread reads 8 elements of f16 of a row of its own, as `ldmatrix` does:

# %%
halves = row_major((32, 64))  # f16: 64 elements are 128 bytes
vectors = Layout((32, 8), (1, 32))  # thread i reads 8 elements of row i
for swizzle in (None, Swizzle(3, 3, 3)):
    layout = halves if swizzle is None else composition(swizzle, halves)
    reads = composition(layout, vectors)
    print(f"{layout!s:40} {bank_conflicts(reads, bits=16).ways} ways")

# %% [markdown]
# Indexing `tile[i, j]` is the same in all of them; only the layout changes. For tiles of tensor cores,
# `cl.make_smem_layout(dtype, shape)` gives the swizzled layout that TMA fills, `ldmatrix` reads without conflicts and
# wgmma accepts, and `synthesize_swizzle` searches one for accesses of your own.
#
# ## Copies that do not wait
#
# `cp.async` copies from global to shared memory while threads go on. In a tiled copy ([step 4](04_tiled_copies)) it
# is an atom like any other, `CopyG2SOp`. Completion is told in groups: `commit_group` makes a group of the copies
# that the thread has started, and `wait_group(n)` waits until at most `n` of its groups are still under way:

# %%
ROWS, COLUMNS = 32, 64
FETCH = cl.make_tiled_copy_tv(
    cl.make_copy_atom(cl.CopyG2SOp(bits=128), f32),
    cl.make_layout((16, 16), stride=(16, 1)),
    cl.make_layout((1, 4)),
)


@cl.kernel(block=THREADS)
def sums_of_columns(x: Tensor[f32, (ROWS, COLUMNS)], sums: Tensor[f32, (COLUMNS,)]) -> None:
    tile = cl.shared(f32, cl.make_smem_layout(f32, (ROWS, COLUMNS)))
    mine = FETCH.get_slice(cl.thread_idx.x)
    cl.copy(FETCH, mine.partition_S(x), mine.partition_D(tile))
    cl.cp_async_commit_group()
    cl.cp_async_wait_group(0)  # this thread's copies are there
    cl.syncthreads()  # and everybody's
    if cl.thread_idx.x < COLUMNS:
        total = f32(0)
        for i in cl.static_range(ROWS):
            total += tile[i, cl.thread_idx.x]
        sums[cl.thread_idx.x] = total


x = np.random.default_rng(1).standard_normal((ROWS, COLUMNS), dtype=np.float32)
sums = np.full(COLUMNS, np.nan, np.float32)
sums_of_columns[1, THREADS](x, sums)
np.testing.assert_allclose(sums, x.sum(axis=0), rtol=1e-4, atol=1e-5)
assert sums_of_columns.check(1, THREADS, x, sums)

# %% [markdown]
# Try: leave out `cp_async_wait_group`, and `check` the kernel.
#
# Next: [tensor cores: mma.sync](06_mma_sync).
