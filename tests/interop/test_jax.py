"""Kernels in JAX: within jit and without, on XLA's buffers; on the CPU they are simulated."""

from __future__ import annotations

import importlib
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import cutelite as cl
from cutelite import Tensor, f32
from tests.dispatch import kernels
from tests.threads import at_once

jax = pytest.importorskip("jax")
jnp = pytest.importorskip("jax.numpy")
call = pytest.importorskip("cutelite.interop.jax").call
host_call = pytest.importorskip("cutelite.interop.jax").host_call

N = kernels.N
SIZE = 1000


@pytest.fixture(autouse=True, params=["cpu", pytest.param("gpu", marks=pytest.mark.gpu)])
def place(request: pytest.FixtureRequest) -> Any:
    with jax.default_device(jax.devices(request.param)[0]):
        yield request.param


def like(a: Any) -> Any:
    return jax.ShapeDtypeStruct(a.shape, a.dtype)


def vector() -> Any:
    return jnp.arange(SIZE, dtype=jnp.float32)


def add(a: Any, b: Any) -> Any:
    return call(kernels.add, like(a), grid=cl.ceil_div(a.size, 64), block=64)(a, b)


def test_as_a_function() -> None:
    a = vector()
    np.testing.assert_array_equal(add(a, 2 * a), 3 * np.arange(SIZE))


def test_within_jit() -> None:
    program = jax.jit(lambda a, b: add(add(a, b) * 2, a) + 1)
    a = vector()
    for _ in range(3):
        np.testing.assert_array_equal(program(a, a), 5 * np.arange(SIZE) + 1)


def test_in_a_loop_of_xlas() -> None:
    a = vector()
    program = jax.jit(lambda a: jax.lax.fori_loop(0, 10, lambda _, x: add(x, a), a))
    np.testing.assert_array_equal(program(a), 11 * np.arange(SIZE))


def test_arrays_that_are_overwritten() -> None:
    a = vector()
    scaled = jax.jit(call(kernels.scale, like(a), grid=16, aliases={0: 0}, by=3.0, times=2))
    np.testing.assert_array_equal(scaled(a), 9 * np.arange(SIZE))
    np.testing.assert_array_equal(a, np.arange(SIZE))  # which XLA copied first


def test_several_outputs_and_a_method() -> None:
    @cl.kernel(block=64)
    def both(a: Tensor[f32, (N,)], b: Tensor[f32, (N,)], c: Tensor[f32, (N,)]) -> None:
        i = cl.block_idx.x * 64 + cl.thread_idx.x
        if i < N:
            b[i] = a[i] + 1
            c[i] = a[i] - 1

    a = vector()
    up, down = jax.jit(call(both, (like(a), like(a)), grid=16))(a)
    np.testing.assert_array_equal(up - down, np.full(SIZE, 2))
    tripled = call(kernels.Scaler(3).run, like(a), grid=1, aliases={0: 0})
    np.testing.assert_array_equal(tripled(a)[:32], 3 * np.arange(32))


def test_tensor_maps(place: str) -> None:
    a = jnp.arange(16 * 64, dtype=jnp.bfloat16).reshape(16, 64)
    copied = jax.jit(call(kernels.copied, like(a), grid=1))(a)
    np.testing.assert_array_equal(copied, a)


def test_a_derivative_of_ones_own() -> None:
    @jax.custom_vjp  # type: ignore[untyped-decorator]
    def total(a: Any, b: Any) -> Any:
        return add(a, b)

    total.defvjp(lambda a, b: (add(a, b), None), lambda _, grad: (grad, grad))
    a = vector()
    grads = jax.grad(lambda a, b: (total(a, b) ** 2).sum(), argnums=(0, 1))(a, a)
    np.testing.assert_array_equal(grads[0], 4 * np.arange(SIZE))


@cl.kernel(block=64)
def gathered(a: Tensor[f32, (N,)], *more: Tensor[f32, (N,)], by: cl.Constexpr[int] = 1) -> None:
    """The last array gets the sum of all others."""
    i = cl.block_idx.x * 64 + cl.thread_idx.x
    if i < N:
        total = a[i]
        for x in more[:-1]:
            total += x[i]
        more[-1][i] = total * by


def test_a_kernel_gathers_all_further_arrays() -> None:
    a = vector()
    add_all = call(gathered, like(a), grid=cl.ceil_div(SIZE, 64), by=2)
    for count in (1, 2, 4):
        np.testing.assert_array_equal(jax.jit(add_all)(*[a] * count), 2 * count * np.arange(SIZE))
    with pytest.raises(cl.ArgumentError, match=r"gathered\(\) takes arrays for a; 0 came, and 0 for"):
        call(gathered, [], grid=1)()


def test_mistakes_come_as_jaxs_errors() -> None:
    a = vector()
    with pytest.raises(Exception, match=r"argument `b` has extent 5, but N is 1000, from `a`"):
        add(a, a[:5]).block_until_ready()
    for count in (1, 3):
        with pytest.raises(cl.ArgumentError, match=rf"takes arrays for a, b, c; {count} came, and 1 for"):
            call(kernels.add, like(a), grid=16, block=64)(*[a] * count)
    with pytest.raises(cl.ArgumentError, match=r"add\(\) has no parameter 'by'; it has a, b, c"):
        call(kernels.add, like(a), grid=16, block=64, by=2)
    with pytest.raises(cl.ArgumentError, match=r"add\(\): argument `b` is traced, and what is given by name"):
        jax.jit(lambda b: call(kernels.add, like(a), grid=16, block=64, b=b)(a))(a)
    with pytest.raises(Exception, match="a kernel cannot take arrays of XLA's type 15"):
        add(a.astype(jnp.complex64), a).block_until_ready()
    np.testing.assert_array_equal(add(a, a), 2 * np.arange(SIZE))  # nothing is broken by them


@cl.kernel(block=64)
def _writes_both(a: Tensor[f32, (N,)], b: Tensor[f32, (N,)]) -> None:
    if cl.thread_idx.x < N:
        a[cl.thread_idx.x] = 5.0
        b[cl.thread_idx.x] = 6.0


def test_inputs_are_not_written() -> None:
    a = vector()
    with pytest.raises(Exception, match=r"`a` is read-only|writes `a`, an array of JAX"):
        call(_writes_both, like(a), grid=1)(a).block_until_ready()
    np.testing.assert_array_equal(a, np.arange(SIZE))
    first, second = call(_writes_both, (like(a), like(a)), grid=1, aliases={0: 0})(a)
    assert (first[0], second[0], a[0]) == (5, 6, 0)
    with pytest.raises(TypeError, match=r"call\(\) takes a kernel, not 3"):
        call(3, like(a), grid=1)


def test_options_of_host_code_are_told_apart_by_type(place: str) -> None:
    if place == "gpu":
        pytest.importorskip("torch")

    def numbered(inputs: Any, outputs: Any, which: Any) -> None:
        outputs[0][:] = [int, float, bool].index(type(which))

    a = vector()
    assert [float(host_call(numbered, like(a), which=each)(a)[0]) for each in (1, 1.0, True, 1)] == [0, 1, 2, 0]


def test_arrays_of_host_code_may_be_missing(place: str) -> None:
    if place == "gpu":
        pytest.importorskip("torch")

    def told(inputs: Any, outputs: Any) -> None:
        for out in outputs:
            if out is not None:
                out[:] = sum(2**i for i, x in enumerate([*inputs, *outputs]) if x is not None)

    a = vector()
    first, second, third = host_call(told, (None, like(a), None))(None, a)
    assert (first, third, float(second[0])) == (None, None, 2 + 8)
    first, second, third = host_call(told, (like(a), None, like(a)))(a, None)
    assert (float(first[0]), second, float(third[0])) == (1 + 4 + 16, None, 21)


@pytest.mark.parametrize("n", [1, 1000])
def test_the_example(monkeypatch: pytest.MonkeyPatch, n: int) -> None:
    monkeypatch.syspath_prepend(str(Path(__file__).resolve().parents[2] / "examples" / "interop"))
    importlib.import_module("jax_call").main(n)


def test_equal_calls_are_remembered_once() -> None:
    from cutelite.interop import jax as room

    a = vector()
    add(a, a)
    before = len(room._calls)
    for _ in range(5):
        add(a, a)
    assert len(room._calls) == before


def test_in_two_threads() -> None:
    def run(i: int) -> Any:
        a = vector() + i
        for _ in range(20):
            a = add(a, a) / 2
        return np.asarray(a)

    for i, result in enumerate(at_once(run, range(4))):
        np.testing.assert_array_equal(result, np.arange(SIZE) + i)


def test_an_array_without_modes_is_a_literal_in_a_kernel() -> None:
    half = jnp.float32(0.5)

    @cl.kernel(block=1)
    def scale(x: Tensor[f32, (2,)], y: Tensor[f32, (2,)]) -> None:
        y[0] = half * x[0]
        y[1] = max(x[1], half)

    x, y = np.array([3.0, 0.25], np.float32), np.zeros(2, np.float32)
    scale[1](x, y)
    assert y.tolist() == [1.5, 0.5]
