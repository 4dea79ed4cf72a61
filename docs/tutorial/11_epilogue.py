# %% [markdown]
# # 11. An epilogue of your own, as an operator of torch
#
# What happens to the sums before they are written is where fusions pay: the result is in registers, and a further
# kernel would read and write all of it again. First a function that the library's GEMM compiles in, then the same
# idea in a kernel of your own, then an operator that `torch.compile` takes without a break.

# %%
import numpy as np
from ml_dtypes import bfloat16

import cutelite as cl
from cutelite import Tensor, TmaTensor, bf16, f32
from cutelite.kernels.gemm import gemm


def squared_relu(x):
    """Elementwise, on vectors of f32: compiled into the kernel."""
    positive = cl.where(x > 0.0, x, 0.0)
    return positive * positive


rng = np.random.default_rng(0)
a, b = rng.standard_normal((72, 64)).astype(bfloat16), rng.standard_normal((64, 80)).astype(bfloat16)
bias = rng.standard_normal(80).astype(np.float32)
d = gemm(a, b, bias=bias, activation=squared_relu)
expected = np.maximum(a.astype(np.float64) @ b.astype(np.float64) + bias, 0) ** 2
np.testing.assert_allclose(d.astype(np.float64), expected, rtol=2e-2, atol=2e-2)

# %% [markdown]
# ## In a kernel of your own
#
# The sums of a tile are a vector, `acc.load()`; rows and columns of each element are vectors too. Here, the row-wise
# absolute maxima of a product, which quantising it needs, without ever storing the product: each thread reduces its
# rows, and one atomic for each row combines tiles.

# %%
M, N, K = cl.dims("M:64 N:64 K:64")
BM, BN, BK, STAGES = 64, 64, 64, 3


@cl.kernel(block=128)
def row_maxima(
    a: TmaTensor[bf16, (M, K), (BM, BK)], b: TmaTensor[bf16, (N, K), (BN, BK)], maxima: Tensor[f32, (M,)]
) -> None:
    """maxima[i] = max(maxima[i], max(abs(a @ b.T)[i]))"""
    tile_a, tile_b = cl.tma_shared(a), cl.tma_shared(b)
    full = cl.shared(cl.mbarrier, (1,))
    if cl.thread_idx.x == 0:
        full[0].init(1)
        cl.fence_mbarrier_init()
    cl.syncthreads()
    row, column = cl.block_idx.x * BM, cl.block_idx.y * BN
    acc = cl.wgmma.zeros_accumulator(BN)
    for k in range(K // BK):
        if cl.thread_idx.x == 0:
            full[0].arrive_expect_tx(a.tile_bytes + b.tile_bytes)
            cl.tma_load(a, tile_a, at=(row, k * BK), barrier=full[0])
            cl.tma_load(b, tile_b, at=(column, k * BK), barrier=full[0])
        full[0].wait(k % 2)
        acc = cl.wgmma.mma_async(tile_a, tile_b, acc)
        cl.wgmma.commit_group()
        acc = cl.wgmma.wait_group(0, acc)
        cl.syncthreads()
    greatest = cl.wgmma.row_reduce(abs(acc), "max")  # of this thread's two rows, over all columns of the tile
    # Where each of this thread's sums lies in the tile: of every four, two are in its first row and two in its second.
    rows = [row + place[0] for place in cl.wgmma.coordinates(BN)]
    if cl.thread_idx.x % 4 == 0:  # four threads share a row
        cl.atomic_max(maxima, rows[0], greatest[0])
        cl.atomic_max(maxima, rows[2], greatest[1])


a, b = rng.standard_normal((128, 128)).astype(bfloat16), rng.standard_normal((192, 128)).astype(bfloat16)
maxima = np.zeros(128, np.float32)
row_maxima[(128 // BM, 192 // BN), 128](a, b, maxima)
np.testing.assert_allclose(maxima, np.abs(a.astype(np.float64) @ b.astype(np.float64).T).max(axis=1), rtol=1e-3)
assert row_maxima.check((2, 3), 128, a, b, maxima)

# %% [markdown]
# ## As an operator of torch
#
# `custom_op` is `torch.library.custom_op` with a fake implementation made for you: torch runs the function on fake
# tensors, with the launches left out. The kernel below is simulated where torch has no GPU, so this page can be tried
# anywhere.

# %%
LENGTH = cl.dims("L")


@cl.kernel(block=256)
def gate(x: Tensor[f32, (LENGTH,)], up: Tensor[f32, (LENGTH,)], y: Tensor[f32, (LENGTH,)]) -> None:
    i = cl.block_idx.x * 256 + cl.thread_idx.x
    if i < LENGTH:
        y[i] = x[i] / (1.0 + cl.math.exp(-x[i])) * up[i]


@cl.kernel(block=256)
def gate_backward(
    x: Tensor[f32, (LENGTH,)], up: Tensor[f32, (LENGTH,)], dy: Tensor[f32, (LENGTH,)],
    dx: Tensor[f32, (LENGTH,)], dup: Tensor[f32, (LENGTH,)],
) -> None:  # fmt: skip
    i = cl.block_idx.x * 256 + cl.thread_idx.x
    if i < LENGTH:
        s = 1.0 / (1.0 + cl.math.exp(-x[i]))
        dx[i] = dy[i] * up[i] * s * (1.0 + x[i] * (1.0 - s))
        dup[i] = dy[i] * x[i] * s


def define_operator():
    """Register `tutorial::swiglu`, and return it. Needs torch."""
    import torch

    from cutelite.interop.torch import custom_op

    @custom_op("tutorial::swiglu", mutates_args=())
    def swiglu(x: torch.Tensor, up: torch.Tensor) -> torch.Tensor:
        y = torch.empty_like(x)
        gate[cl.ceil_div(x.numel(), 256), 256](x.view(-1), up.view(-1), y.view(-1))
        return y

    @custom_op("tutorial::swiglu_backward", mutates_args=())
    def swiglu_backward(x: torch.Tensor, up: torch.Tensor, dy: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
        dx, dup, dy = torch.empty_like(x), torch.empty_like(up), dy.contiguous()
        arguments = [t.view(-1) for t in (x, up, dy, dx, dup)]
        gate_backward[cl.ceil_div(x.numel(), 256), 256](*arguments)
        return dx, dup

    swiglu.register_autograd(
        lambda ctx, dy: swiglu_backward(*ctx.saved_tensors, dy),
        setup_context=lambda ctx, inputs, output: ctx.save_for_backward(*inputs),
    )
    return swiglu


def try_operator():
    """Compare it with torch's own, values and gradients, plain and compiled."""
    import torch

    swiglu = define_operator()
    device = "cuda" if torch.cuda.is_available() else "cpu"
    x, up = (torch.randn(3, 500, device=device, requires_grad=True) for _ in range(2))
    torch.testing.assert_close(swiglu(x, up), torch.nn.functional.silu(x) * up)
    torch.library.opcheck(swiglu, (x, up))

    def loss(x, up):
        return swiglu(x, up).square().sum()

    loss(x, up).backward()
    expected = torch.autograd.grad((torch.nn.functional.silu(x) * up).square().sum(), (x, up))
    torch.testing.assert_close((x.grad, up.grad), expected)
    print("swiglu: values and gradients are torch's, on", device)
    return loss


# %%
import importlib.util  # noqa: E402

if importlib.util.find_spec("torch"):
    try_operator()

# %% [markdown]
# `torch.compile(loss, fullgraph=True)` takes it as it is. GEMM, attention and the kernels of rows are operators of
# torch already: {doc}`/interop` and {doc}`/rows` list them.
#
# That was the last step. {doc}`/cookbook` has short answers to common tasks; {doc}`/language` is the reference.
