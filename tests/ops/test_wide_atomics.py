"""Updates of memory as a GPU does them: 128 bits at once, sums of subnormal numbers, extremes of zeros.

Two integers of 64 bits are seen together or not at all.
"""

from typing import Any

import numpy as np
import pytest

import cutelite as cl
from cutelite import Tensor, f16, f32, i32, u64
from tests.places import PLACES, Place, place_of

(N,) = (cl.dims("N"),)
Pairs = Tensor[u64, (N, 2), cl.align(16)]


@pytest.fixture(params=PLACES)
def place(request: pytest.FixtureRequest) -> Place:
    return place_of(request.param)


def pairs(*rows: tuple[int, int]) -> np.ndarray[Any, Any]:
    return np.array(rows, np.uint64)


@cl.kernel(block=32)
def count(x: Pairs) -> None:
    """Each thread adds 1 to one half and 3 to the other, by comparing and swapping both."""
    seen = cl.load_relaxed(x.tile((1, 2), (0, 0)), None, n=2)
    while True:
        found = cl.atomic_cas(x.tile((1, 2), (0, 0)), None, seen, cl.vector(seen[0] + 1, seen[1] + 3))
        if (found[0] == seen[0]) & (found[1] == seen[1]):
            break
        seen = found


def test_both_halves_are_swapped_together(place: Place) -> None:
    x = pairs((5, 2**63))
    place(count[4], x)
    assert x.tolist() == [[5 + 128, 2**63 + 3 * 128]]


@cl.kernel(block=64)
def exchange(x: Pairs, out: Tensor[u64, (64, 2), cl.align(16)]) -> None:
    """All threads put a pair into one place; each pair comes out once, or is there at the end."""
    i = cl.thread_idx.x
    old = cl.atomic_exch(x.tile((1, 2), (0, 0)), None, cl.vector(u64(i) + 1, (u64(i) + 1) << 40))
    cl.store_relaxed(out.tile((1, 2), (i, 0)), None, old)


def test_pairs_stay_together_through_exchanges(place: Place) -> None:
    x, out = pairs((0, 0)), pairs(*[(7, 7)] * 64)
    place(exchange[1], x, out)
    found = sorted([*out.tolist(), *x.tolist()])
    assert found == [[i, i << 40] for i in range(65)]


@cl.kernel(block=32)
def passed(x: Pairs, data: Tensor[i32, (N,)], out: Tensor[i32, (N,)]) -> None:
    """One block releases a value with a flag beside it; the other waits for the flag, and reads what came before."""
    i = cl.thread_idx.x
    if cl.block_idx.x == 0:
        data[0] = 41
        cl.syncthreads()
        if i == 0:
            cl.store_release(x.tile((1, 2), (0, 0)), None, cl.vector(u64(1), u64(99)))
    elif i == 0:
        found = cl.load_acquire(x.tile((1, 2), (0, 0)), None, n=2)
        while found[0] == 0:
            found = cl.load_acquire(x.tile((1, 2), (0, 0)), None, n=2)
        out[0] = found[1].to(i32) + data[0]


def test_a_flag_and_its_value_are_one(place: Place) -> None:
    x, data, out = pairs((0, 0)), np.zeros(1, np.int32), np.zeros(1, np.int32)
    place(passed[2], x, data, out)
    assert out[0] == 140
    x[:] = 0
    passed.check(2, None, x, data, out, seeds=8).raise_if_wrong()


TINY = np.float32(2.0**-126)  # the least normal number
NEAR_ZERO = np.array([0, TINY / 4, TINY, -TINY, 1.25 * TINY, 1], np.float32)


@cl.kernel(block=64)
def add_each(x: Tensor[f32, (4, 64)], y: Tensor[f32, (64,)], bulk: Tensor[f32, (64,), cl.align(16)]) -> None:
    i = cl.thread_idx.x
    here, tile = cl.shared(f32, 64), cl.shared(f32, 64)
    here[i], tile[i] = x[0, i], y[i]
    cl.atomic_add(x, (1, i), y[i])
    cl.red(x, (2, i), "add", y[i])
    cl.atomic_add(here, i, y[i])
    x[3, i] = here[i]
    cl.fence_proxy_async("shared::cta")
    cl.syncthreads()
    if i == 0:
        cl.cp_reduce_async_bulk(bulk, tile, 256, "add")
        cl.cp_async_bulk_commit_group()
        cl.cp_async_bulk_wait_group(0)


def test_sums_of_threads_in_global_memory_take_subnormals_as_zeros(place: Place) -> None:
    """In shared memory they do not, nor do those of bulk copies."""
    first, second = (each.reshape(-1) for each in np.meshgrid(NEAR_ZERO, -NEAR_ZERO))
    first, second = np.resize(first, 64), np.resize(second, 64)
    x, bulk = np.tile(first, (4, 1)), first.copy()
    place(add_each[1], x, second, bulk)
    normal = [np.where(np.abs(n) < TINY, 0, n) for n in (first, second)]
    flushed = np.where(np.abs(normal[0] + normal[1]) < TINY, 0, normal[0] + normal[1])
    assert (x[1] == flushed).all() and (x[2] == flushed).all()
    assert (x[3] == first + second).all() and (bulk == first + second).all()


@cl.kernel(block=32)
def extremes(x: Tensor[f16, (2, 8), cl.align(16)], y: Tensor[f16, (8,)]) -> None:
    tile = cl.shared(f16, 8)
    if cl.thread_idx.x < 8:
        tile[cl.thread_idx.x] = y[cl.thread_idx.x]
    cl.fence_proxy_async("shared::cta")
    cl.syncthreads()
    if cl.thread_idx.x == 0:
        cl.cp_reduce_async_bulk(x.tile((1, 8), (0, 0)), tile, 16, "min")
        cl.cp_reduce_async_bulk(x.tile((1, 8), (1, 0)), tile, 16, "max")
        cl.cp_async_bulk_commit_group()
        cl.cp_async_bulk_wait_group(0)


def test_negative_zero_is_the_smaller_one(place: Place) -> None:
    x = np.tile(np.array([0.0, -0.0, 0.0, -0.0, 1, np.nan, 2, -0.0], np.float16), (2, 1))
    place(extremes[1], x, np.array([-0.0, 0.0, 0.0, -0.0, np.nan, 3, -0.0, -1], np.float16))
    least, most = [-0.0, -0.0, 0.0, -0.0, 1, 3, -0.0, -1], [0.0, 0.0, 0.0, -0.0, 1, 3, 2, -0.0]
    assert list(map(str, x.tolist())) == [str([*map(float, least)]), str([*map(float, most)])]
