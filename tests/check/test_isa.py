"""What the PTX ISA forbids, and hardware mostly lets pass; and programs beside it that are right."""

from typing import Any

import numpy as np
import pytest

import cutelite as cl
from cutelite import Constexpr, Tensor, i32
from tests.check.slips import assert_caught


def zeros(*shape: int) -> Any:
    return np.zeros(shape, np.int32)


@cl.kernel(block=32)
def states(out: Tensor[i32, (2, 32)], slip: Constexpr[str]) -> None:
    """Threads wait with the states of their arrivals; one of three phases before has the parity of the third."""
    bar, row, t = cl.shared(cl.mbarrier, (1,)), cl.shared(i32, (32,)), cl.thread_idx.x
    if t == 0:
        bar[0].init(32)
    cl.syncthreads()
    row[t] = t
    first = bar[0].arrive()
    bar[0].wait(first)
    out[0, t] = row[31 - t]
    second = bar[0].arrive()
    bar[0].wait(second)
    row[t] = 2 * t
    third = bar[0].arrive()
    bar[0].wait(first if slip == "first" else second if slip == "second" else third)
    out[1, t] = row[31 - t]


@cl.kernel(block=64)
def counted(out: Tensor[i32, (64,)], slip: Constexpr[str]) -> None:
    """All threads come to a barrier that counts."""
    t = cl.thread_idx.x
    if slip == "a sync" and t >= 32:
        cl.syncthreads()
    elif slip == "another reduction" and t >= 32:
        out[t] = cl.syncthreads_or(t > 40).to(i32)
    else:
        out[t] = cl.syncthreads_count(t > 40)


@cl.kernel(block=256)
def resized(out: Tensor[i32, (256,)], slip: Constexpr[str]) -> None:
    """A warpgroup gives registers back, and takes others later."""
    bar, t = cl.shared(cl.mbarrier, (1,)), cl.thread_idx.x
    if t == 0:
        bar[0].init(128)
    cl.syncthreads()
    if t < 128:
        cl.setmaxnreg_dec(40)
        if slip == "one warp waits":
            bar[0].arrive()
            if t < 32:
                bar[0].wait(0)
        elif slip == "three warps meet":
            if t < 96:
                cl.barrier_sync(1, 96)
        else:
            cl.barrier_sync(1, 128)
        cl.setmaxnreg_inc(200)
    else:
        cl.setmaxnreg_inc(128)
    out[t] = t


@cl.kernel(block=64)
def copied(src: Tensor[i32, (256,)], out: Tensor[i32, (256,)], slip: Constexpr[str]) -> None:
    """Each thread copies four numbers, and writes where they come from or go to."""
    row, t = cl.shared(i32, (256,)), cl.thread_idx.x
    row[4 * t] = src[4 * t] = 1000 + t
    cl.cp_async(row.tile((4,), (t,)), src.tile((4,), (t,)))
    cl.cp_async_commit_group()
    if slip == "its place":
        row[4 * t] = 1
    if slip == "its source":
        src[4 * t] = 1
    cl.cp_async_wait_group(0)
    row[4 * t + 1] = src[4 * t + 1] = 2
    cl.syncthreads()
    for i in cl.static_range(4):
        out[4 * t + i] = row[255 - 4 * t - i]


NUMBERS = np.arange(256, dtype=np.int32)


@pytest.mark.parametrize(
    ("kernel", "arrays", "slip", "kind", "line"),
    [
        (states, (zeros(2, 32),), "first", "mbarrier", 'slip == "first"'),
        (states, (zeros(2, 32),), "second", "mbarrier", 'slip == "first"'),
        (counted, (zeros(64),), "a sync", "barrier", "cl.syncthreads"),
        (counted, (zeros(64),), "another reduction", "barrier", "cl.syncthreads"),
        (resized, (zeros(256),), "one warp waits", "registers", "cl.setmaxnreg_inc(200)"),
        (resized, (zeros(256),), "three warps meet", "registers", "cl.setmaxnreg_inc(200)"),
        (copied, (NUMBERS, zeros(256)), "its place", "race", "row[4 * t] = 1\n"),
        (copied, (NUMBERS, zeros(256)), "its source", "race", "src[4 * t] = 1\n"),
    ],
)
def test_what_the_isa_forbids_is_reported(kernel: Any, arrays: Any, slip: str, kind: str, line: str) -> None:
    assert_caught(kernel, 1, arrays, slip, kind, (line,))
