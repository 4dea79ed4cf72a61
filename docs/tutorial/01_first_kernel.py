# %% [markdown]
# # 1. A first kernel
#
# A kernel is a Python function that every thread of a GPU executes. cutelite compiles it: what Python can compute
# beforehand is a constant, the rest becomes machine code. This page needs no GPU. A launch on NumPy arrays runs in
# cutelite's simulator: it executes the compiler's intermediate representation of the kernel thread by thread, and
# refuses what a GPU may let pass, such as an index beyond the end.

# %%
import numpy as np

import cutelite as cl
from cutelite import Tensor, f32

N = cl.dims("N")


@cl.kernel
def add(a: Tensor[f32, (N,)], b: Tensor[f32, (N,)], c: Tensor[f32, (N,)]) -> None:
    i = cl.block_idx.x * cl.block_dim.x + cl.thread_idx.x
    if i < N:
        c[i] = a[i] + b[i]


# %% [markdown]
# `Tensor[f32, (N,)]` is an array of 32-bit floats with one mode of `N` elements. `N` is a *dim*: a size that each
# launch takes from the arrays it gets. All three arrays say `N`, so their lengths must agree, and the launch checks
# that. A kernel returns nothing: results go into arrays that the caller made.
#
# `kernel[grid, block](arguments)` is CUDA's `kernel<<<grid, block>>>(arguments)`: how many blocks, and how many threads
# in each; a tuple for two or three dimensions. `-(-n // threads)` is `n / threads` rounded up, 4 blocks here. The last
# of them has threads beyond the end, which is what `if i < N` is for.

# %%
n, threads = 1000, 256
a, b = np.arange(n, dtype=np.float32), np.ones(n, np.float32)
c = np.full(n, np.nan, np.float32)

add[-(-n // threads), threads](a, b, c)
assert (c == a + b).all()
print(c[:5], c[-1])

# %% [markdown]
# With arrays of torch or CuPy the same line runs on the GPU that holds them; JAX calls kernels inside `jax.jit`
# ({doc}`/interop`).
#
# ## When something is wrong
#
# What the compiler refuses, it refuses at your line:

# %%


@cl.kernel
def rounded(x: Tensor[f32, (N,)]) -> None:
    i = cl.thread_idx.x
    x[i] = x[i].astype(np.int32)


try:
    rounded.compile(block=32)
except cl.CompileError as error:
    message = str(error)
    print(message)

assert "f32 is needed here, not i32" in message

# %% [markdown]
# (`cl.math.rint(x[i])`, which is an f32, is what was meant.) `compile` compiles without a launch, for blocks of 32
# threads here.
#
# Mistakes that show only when the kernel runs are found by the simulator. Without the `if`, the last threads read
# beyond the arrays. A GPU might not notice; the simulator names the line, the index and the threads:

# %%


@cl.kernel
def add_without_bounds(a: Tensor[f32, (N,)], b: Tensor[f32, (N,)], c: Tensor[f32, (N,)]) -> None:
    i = cl.block_idx.x * cl.block_dim.x + cl.thread_idx.x
    c[i] = a[i] + b[i]


try:
    add_without_bounds[-(-n // threads), threads](a, b, c)
except cl.SimError as error:
    message = str(error)
    print(message)

assert "the index is 1000, but the extent is N = 1000" in message

# %% [markdown]
# ## What it became
#
# `compile` gives every stage between Python and the machine code: the typed IR (`compiled.ir`), PTX (`compiled.ptx`)
# and SASS (`compiled.sass`). It needs no GPU if `arch` says for which one to compile (`sm_90a` is Hopper), but NVIDIA's
# assembler and disassembler, which `pip install -e '.[cuda]'` brought.

# %%
compiled = add.compile(block=256, arch="sm_90a")
print(compiled.ir)
print(f"{compiled.registers} registers a thread")

# %% [markdown]
# Try: a kernel `saxpy(x, y, a: f32)` for `y = a * x + y`. A number is a parameter like any other. Then launch it with
# an `x` shorter than `y`, and read what the launch says.
#
# Next: [rows, blocks and reductions](02_rows_and_reductions).
