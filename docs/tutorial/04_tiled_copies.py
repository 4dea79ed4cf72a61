# %% [markdown]
# # 4. Tiled copies and vector widths
#
# Memory is fastest when every thread moves 16 bytes at a time and a warp touches whole lines. Written by index
# arithmetic, that is where most mistakes are made. A *tiled copy* says it with layouts: which threads, how many
# values each, with which instruction. That instruction is an *atom* in CuTe's words: `make_copy_atom(op, dtype)`.

# %%
import numpy as np

import cutelite as cl
from cutelite import Tensor, f16, f32

M, N = cl.dims("M N:8")  # N is divisible by 8: then rows of f16 begin at multiples of 16 bytes

ROWS, COLUMNS, THREADS = 32, 64, 128
COPY = cl.make_tiled_copy_tv(
    cl.make_copy_atom(cl.CopyUniversalOp(bits=128), f16),  # one instruction: 128 bits, 8 elements
    cl.make_layout((16, 8), stride=(8, 1)),  # threads: 16 down, 8 across
    cl.make_layout((1, 8)),  # values of a thread: 8 in a row
)
COPY  # noqa: B018 (a notebook shows it: who moves what)

# %% [markdown]
# The tile that all threads move at once is 16 x 64. A thread takes its *slice* of it and partitions tensors of any
# size with that, `partition_S` the source of a copy and `partition_D` its destination. The result has the modes
# (values of one instruction, repeats down, repeats across). `cl.copy` goes through the repeats.

# %%


@cl.kernel(block=THREADS)
def scale_tiles(x: Tensor[f16, (M, N)], y: Tensor[f16, (M, N)], factor: f32) -> None:
    tile, where = (ROWS, COLUMNS), (cl.block_idx.x, cl.block_idx.y)
    mine = COPY.get_slice(cl.thread_idx.x)
    source = mine.partition_S(cl.local_tile(x, tile, where))
    target = mine.partition_D(cl.local_tile(y, tile, where))
    values = cl.make_fragment_like(source)  # registers, in the shape of this thread's part

    cl.copy(COPY, source, values)
    values.store((values.load().to(f32) * factor).to(f16))
    cl.copy(COPY, values, target)


x = np.random.default_rng(0).standard_normal((64, 128)).astype(np.float16)
y = np.full_like(x, np.nan)
grid = x.shape[0] // ROWS, x.shape[1] // COLUMNS
scale_tiles[grid, THREADS](x, y, 2.0)
assert (y == 2 * x).all()

# %% [markdown]
# The accesses are what the atom says, 128 bits wide. The compiler proves that they are aligned: the dim is `N:8`, and
# tiles begin at multiples of 64. Where it cannot, it says which fact is missing instead of reading element by
# element.

# %%
ptx = scale_tiles.compile(block=THREADS, arch="sm_90a").ptx
print("\n".join(line for line in ptx.splitlines() if "ld.global" in line or "st.global" in line))
assert ptx.count("ld.global.v4.b32") == 2

M2, N2 = cl.dims("M N")  # nothing is known of this N


@cl.kernel(block=THREADS)
def not_aligned(x: Tensor[f16, (M2, N2)]) -> None:
    mine = COPY.get_slice(cl.thread_idx.x)
    source = mine.partition_S(cl.local_tile(x, (ROWS, COLUMNS), (cl.block_idx.x, cl.block_idx.y)))
    cl.copy(COPY, source, cl.make_fragment_like(source))


try:
    not_aligned.compile(block=THREADS)
except cl.CompileError as error:
    message = str(error)
    print(message)

assert "divisib" in message or "align" in message

# %% [markdown]
# ## Edges
#
# For sizes that tiles do not divide, make a tensor of coordinates, cut it in the same way, and compare: each thread
# then knows where its elements are. `pred=` takes one boolean for each instruction.

# %%


@cl.kernel(block=THREADS)
def copy_any_size(x: Tensor[f16, (M, N)], y: Tensor[f16, (M, N)]) -> None:
    tile, where = (ROWS, COLUMNS), (cl.block_idx.x, cl.block_idx.y)
    mine = COPY.get_slice(cl.thread_idx.x)
    source = mine.partition_S(cl.local_tile(x, tile, where))
    target = mine.partition_D(cl.local_tile(y, tile, where))
    places = mine.partition_S(cl.local_tile(cl.make_identity_tensor(x.shape), tile, where))
    inside = cl.make_rmem_tensor(cl.boolean, cl.make_layout(source.shape[1:]))
    for i in cl.static_range(cl.size(source, 1)):
        for j in cl.static_range(cl.size(source, 2)):
            inside[i, j] = cl.elem_less(places[0, i, j], x.shape)  # N is divisible by 8: the first speaks for all 8
    values = cl.make_fragment_like(source)
    cl.copy(COPY, source, values, pred=inside)
    cl.copy(COPY, values, target, pred=inside)


x = np.random.default_rng(1).standard_normal((50, 104)).astype(np.float16)
y = np.full_like(x, np.nan)
grid = -(-x.shape[0] // ROWS), -(-x.shape[1] // COLUMNS)
copy_any_size[grid, THREADS](x, y)
assert (y == x).all()
assert copy_any_size.check(grid, THREADS, x, y)

# %% [markdown]
# Try: deal the threads out as 128 down and 1 across. A warp then takes 16 bytes from each of 32 rows. How many
# sectors of 32 bytes does it touch, and how much of each does it need? For rows of 128 elements,
# `cutelite.layout.sectors(Layout((32, 8), (128, 1)), 16)` counts.
#
# Next: [shared memory, swizzles and bank conflicts](05_shared_memory).
