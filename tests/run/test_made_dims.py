"""Run-time integers as extents and strides of layouts: `cl.dim`."""

from typing import Any

import numpy as np
import pytest

import cutelite as cl
from cutelite import CompileError, Pointer, Tensor, f32, i32, i64
from cutelite.sim.error import SimError
from tests.places import PLACES, Place, place_of

N, G = cl.dims("N G")


@pytest.fixture(params=PLACES)
def place(request: pytest.FixtureRequest) -> Place:
    return place_of(request.param)


@cl.kernel(block=32)
def transposed(a: Pointer[f32], out: Tensor[i32, (N,)], rows: i32, columns: i64) -> None:
    """A matrix at a pointer, of which numbers say how large it is; by threads, and by tiles of it."""
    m, n = cl.dim(rows), cl.dim(columns)
    t = cl.make_tensor(a.ptr, cl.make_layout((m, n), (n, 1)), f32)
    for i in range(cl.thread_idx.x, m * n, 32):
        t[i // n, i % n] = (i % n * 100 + i // n).to(f32)
    if cl.thread_idx.x == 0:
        out[0] = cl.size(t.layout).to(i32) if not isinstance(cl.size(t.layout), int) else cl.size(t.layout)


def test_layouts_of_numbers_of_the_launch(place: Place) -> None:
    a, out = np.zeros((5, 7), np.float32), np.zeros(1, np.int32)
    place(transposed[1], a, out, 5, 7)
    rows, columns = np.indices((5, 7))
    np.testing.assert_array_equal(a, columns * 100 + rows)


@cl.kernel(block=32)
def groups(data: Pointer[f32], sizes: Tensor[i32, (G, 2)], sums: Tensor[f32, (G,)]) -> None:
    """Matrices of different sizes, one behind the other: each iteration has a layout of its own."""
    start = i64(0)
    for g in range(G):
        m, n = cl.dim(sizes[g, 0]), cl.dim(sizes[g, 1])
        t = cl.make_tensor(data.at(start), cl.make_layout((m, n), (n, 1)), f32)
        total = f32(0)
        for i in range(m):
            for j in range(n):
                total = total + t[i, j]
        if cl.thread_idx.x == 0:
            sums[g] = total
        start = start + m * n


def test_a_dim_made_in_a_loop_is_another_each_time(place: Place) -> None:
    sizes = [(2, 3), (1, 5), (4, 4)]
    parts = [np.random.default_rng(i).integers(0, 9, size).astype(np.float32) for i, size in enumerate(sizes)]
    data, sums = np.concatenate([part.ravel() for part in parts]), np.zeros(3, np.float32)
    place(groups[1], data, np.array(sizes, np.int32), sums)
    assert sums.tolist() == [part.sum() for part in parts]


def test_promises_are_checked() -> None:
    @cl.kernel(block=32)
    def k(out: Tensor[f32, (N,)], n: i32) -> None:
        m = cl.dim(n, 8, max=64)
        if cl.thread_idx.x < m:
            out[cl.thread_idx.x] = 1.0

    k[1](np.zeros(32, np.float32), 16)
    for wrong in (12, 72, 0):
        with pytest.raises(SimError, match="is not what _dim0"):
            k[1](np.zeros(32, np.float32), wrong)


@cl.kernel(block=32)
def nested(out: Tensor[f32, (N,)], a: i32) -> None:
    for i in range(a):
        n = cl.dim(i + 2)
        outer = cl.make_layout((3, n), (n, 1))
        for j in range(n):
            k = cl.dim(j + 1)
            inner = cl.make_layout((3, k), (k, 1))
            if cl.thread_idx.x == 0:
                for q in range(k):
                    out[outer(1, 0)] = out[outer(1, 0)] + inner(1, q).to(f32)


def test_dims_of_loops_within_loops() -> None:
    out, expected = np.zeros(8, np.float32), np.zeros(8, np.float32)
    nested[1](out, 4)
    for n in range(2, 6):
        expected[n] = sum(k + q for k in range(1, n + 1) for q in range(k))
    np.testing.assert_array_equal(out, expected)


@cl.kernel(block=32)
def behind(out: Tensor[f32, (N,)], a: i32) -> None:
    for i in range(a):
        m = cl.dim(i + 1)
    out[m] = 1.0


@cl.kernel(block=32)
def carried(out: Tensor[f32, (N,)], a: i32) -> None:
    layout = cl.make_layout((3, cl.dim(a)))
    for i in range(a):
        out[layout(1, 0)] = 1.0
        layout = cl.make_layout((3, cl.dim(i + 1)))


@pytest.mark.parametrize(("kernel", "word"), [(behind, "`m` is not bound"), (carried, "`layout` is something else")])
def test_a_dim_of_a_loop_is_of_no_use_elsewhere(kernel: Any, word: str) -> None:
    with pytest.raises(CompileError, match=word):
        kernel[1](np.zeros(8, np.float32), 4)


@cl.kernel(block=32)
def stores_by_a_dim_that_no_address_needs(x: Tensor[f32, (64,)], rows: i32) -> None:
    m = cl.dim(rows, 4)
    cl.make_tensor(x, cl.make_layout((m, 4), (4, 1)))[cl.thread_idx.x % m, 3] = 1.0
    cl.make_tensor(x, cl.make_layout((m, 4), (4, 1)))[1, 2] = 2.0


@cl.kernel(block=32)
def stores_without_any_dim_in_an_address(x: Tensor[f32, (64,)], rows: i32) -> None:
    cl.make_tensor(x, cl.make_layout((cl.dim(rows, 4), 4), (4, 1)))[1, 2] = 2.0


def test_a_dim_that_nothing_computes_with_leaves_no_trace() -> None:
    x = np.zeros(64, np.float32)
    stores_without_any_dim_in_an_address[1](x, 8)
    assert x.nonzero()[0].tolist() == [6]
    stores_by_a_dim_that_no_address_needs[1](x, 8)
    assert x.sum() == 10
    for kernel in (stores_by_a_dim_that_no_address_needs, stores_without_any_dim_in_an_address):
        assert "st.global" in kernel.compile(arch="sm_90a").ptx
