"""A kernel as an operator of torch: under torch.compile without a break, with a derivative; y = x * sigmoid(b x).

Needs torch; without a GPU the kernels are simulated. torch.compile also runs the operator's function to learn shapes:
its launches are left out then (`cutelite.interop.torch`).
"""

# pyright: reportMissingImports=false

from __future__ import annotations

from typing import Any

import torch

import cutelite as cl
from cutelite import Tensor, f32
from cutelite.interop.torch import custom_op

N = cl.dims("N")
BLOCK = 256


@cl.kernel(block=BLOCK)
def swish_kernel(x: Tensor[f32, (N,)], beta: f32, y: Tensor[f32, (N,)]) -> None:
    i = cl.block_idx.x * BLOCK + cl.thread_idx.x
    if i < N:
        y[i] = x[i] / (1.0 + cl.math.exp(-beta * x[i]))


@cl.kernel(block=BLOCK)
def swish_backward_kernel(x: Tensor[f32, (N,)], dy: Tensor[f32, (N,)], beta: f32, dx: Tensor[f32, (N,)]) -> None:
    i = cl.block_idx.x * BLOCK + cl.thread_idx.x
    if i < N:
        s = 1.0 / (1.0 + cl.math.exp(-beta * x[i]))
        dx[i] = dy[i] * s * (1.0 + beta * x[i] * (1.0 - s))


@custom_op("cutelite_examples::swish", mutates_args=())
def swish(x: torch.Tensor, beta: float) -> torch.Tensor:
    x = x.contiguous()
    y = torch.empty_like(x)
    swish_kernel[cl.ceil_div(x.numel(), BLOCK), BLOCK](x.view(-1), beta, y.view(-1))
    return y


@custom_op("cutelite_examples::swish_backward", mutates_args=())
def swish_backward(x: torch.Tensor, dy: torch.Tensor, beta: float) -> torch.Tensor:
    x, dy = x.contiguous(), dy.contiguous()  # a gradient may have strides of 0
    dx = torch.empty_like(x)
    swish_backward_kernel[cl.ceil_div(x.numel(), BLOCK), BLOCK](x.view(-1), dy.view(-1), beta, dx.view(-1))
    return dx


def remember(ctx: Any, inputs: tuple[Any, ...], output: Any) -> None:
    x, ctx.beta = inputs
    ctx.save_for_backward(x)


def backward(ctx: Any, dy: Any) -> tuple[Any, None]:
    (x,) = ctx.saved_tensors
    return swish_backward(x, dy, ctx.beta), None


swish.register_autograd(backward, setup_context=remember)


def main(m: int = 300, n: int = 77) -> None:
    device = "cuda" if torch.cuda.is_available() else "cpu"
    backend = "inductor" if device == "cuda" else "aot_eager"  # inductor needs a C++ compiler for the CPU
    x = torch.randn(m, n, device=device, requires_grad=True)
    expected = x * torch.sigmoid(1.5 * x)
    program = torch.compile(lambda x: swish(x, 1.5).square().sum(), fullgraph=True, backend=backend)
    torch.testing.assert_close(swish(x, 1.5), expected)
    (got,) = torch.autograd.grad(program(x), x)
    (wanted,) = torch.autograd.grad(expected.square().sum(), x)
    torch.testing.assert_close(got, wanted)
    print(f"swish ({m}, {n}) on {device}: agrees with torch's, compiled as one graph, and so does its gradient")


if __name__ == "__main__":
    main()
