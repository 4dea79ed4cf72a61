"""A kernel within jax.jit, with a derivative: y = x * sigmoid(b x). On a GPU, or simulated where JAX has the CPU."""

# pyright: reportMissingImports=false, reportFunctionMemberAccess=false

from __future__ import annotations

import functools
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

import cutelite as cl
from cutelite import Tensor, f32
from cutelite.interop.jax import call

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


@functools.partial(jax.custom_vjp, nondiff_argnums=(1,))
def swish(x: Any, beta: float) -> Any:
    out = jax.ShapeDtypeStruct(x.shape, x.dtype)
    return call(swish_kernel, out, grid=cl.ceil_div(x.size, BLOCK), beta=beta)(x)


def backward(beta: float, x: Any, dy: Any) -> tuple[Any]:
    out = jax.ShapeDtypeStruct(x.shape, x.dtype)
    return (call(swish_backward_kernel, out, grid=cl.ceil_div(x.size, BLOCK), beta=beta)(x, dy),)


swish.defvjp(lambda x, beta: (swish(x, beta), x), backward)


def main(n: int = 1000) -> None:
    x = jnp.linspace(-4, 4, n, dtype=jnp.float32)

    def ours(x: Any) -> Any:
        return (swish(x, 1.5) ** 2).sum()

    def theirs(x: Any) -> Any:
        return ((x * jax.nn.sigmoid(1.5 * x)) ** 2).sum()

    np.testing.assert_allclose(jax.jit(ours)(x), theirs(x), rtol=1e-5)
    np.testing.assert_allclose(jax.jit(jax.grad(ours))(x), jax.grad(theirs)(x), rtol=1e-4, atol=1e-5)
    print(f"swish ({n},): agrees with JAX's within jit on {jax.devices()[0]}, and so does its gradient")


if __name__ == "__main__":
    main()
