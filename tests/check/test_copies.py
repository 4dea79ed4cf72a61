"""cp.async of the lanes of a warp: executed together, and still each thread's own in what it knows and waits for."""

from typing import Any

import numpy as np
import pytest

import cutelite as cl
from cutelite import Constexpr, Tensor, i32
from cutelite.sim import SimError
from tests.check.slips import assert_caught, report

ARRAYS = (np.arange(64, dtype=np.int32), np.zeros(64, np.int32))


@cl.kernel(block=64)
def waited(src: Tensor[i32, (64,)], out: Tensor[i32, (64,)], slip: Constexpr[str]) -> None:
    """Threads copy a number each. Some wait and read their own; by a slip their neighbour's, or without a wait."""
    t = cl.thread_idx.x
    row = cl.shared(i32, (64,))
    cl.cp_async(row.at(t), src.at(t), 4)
    cl.cp_async_commit_group()
    if t % 2 == 0:
        cl.cp_async_wait_group(0)
        out[t] = row[t + 1] if slip == "neighbour" else row[t]
    elif slip == "no wait":
        out[t] = row[t]


def test_a_wait_ends_the_copies_of_its_own_thread_alone() -> None:
    found = report(waited, 1, ARRAYS, "")
    assert found, found
    for slip in ("neighbour", "no wait"):
        for seed in range(4):
            kinds = report(waited, 1, ARRAYS, slip, [seed]).kinds
            assert kinds & {"race", "uninitialised"}, (slip, seed)
        with pytest.raises(SimError, match="nothing was written to"):
            waited[1, 64](*(x.copy() for x in ARRAYS), slip)


def test_a_wait_of_some_lanes_brings_their_numbers() -> None:
    src, out = (x.copy() for x in ARRAYS)
    waited[1, 64](src, out, "")
    assert (out == np.where(src % 2 == 0, src, 0)).all()


@cl.kernel(block=64)
def written(data: Tensor[i32, (64,)], out: Tensor[i32, (64,)], slip: Constexpr[str]) -> None:
    """Each thread copies a number that it has written itself, or its neighbour, behind a barrier."""
    t = cl.thread_idx.x
    row = cl.shared(i32, (64,))
    data[t] = t
    if slip != "no barrier":
        cl.syncwarp()
    cl.cp_async(row.at(t), data.at(t if slip == "own" else t ^ 1), 4)
    cl.cp_async_commit_group()
    cl.cp_async_wait_group(0)
    if slip == "overwritten":
        row[t ^ 1] = 0
    out[t] = row[t]


@cl.kernel(block=64)
def refilled(data: Tensor[i32, (64,)], out: Tensor[i32, (64,)], slip: Constexpr[str]) -> None:
    """Threads read numbers of their neighbours, then copy others to their place, behind a barrier of the warp."""
    t = cl.thread_idx.x
    row = cl.shared(i32, (64,))
    row[t] = t
    cl.syncwarp()
    out[t] = row[t ^ 1]
    if slip != "no barrier":
        cl.syncwarp()
    cl.cp_async(row.at(t), data.at(t), 4)
    if slip != "no group":
        cl.cp_async_commit_group()
    cl.cp_async_wait_group(0)


@pytest.mark.parametrize(
    ("kernel", "slip", "kind"),
    [(written, "no barrier", "race"), (written, "overwritten", "race"), (refilled, "no barrier", "race")],
)
def test_copies_race_with_what_their_own_thread_does_not_know(kernel: Any, slip: str, kind: str) -> None:
    assert_caught(kernel, 1, ARRAYS, slip, kind, ("cl.cp_async(",))


def test_a_thread_knows_what_it_has_written_itself() -> None:
    found = report(written, 1, ARRAYS, "own")
    assert found, found


@cl.kernel(block=32)
def beyond(src: Tensor[i32, (42,)], out: Tensor[i32, (64,)]) -> None:
    """Threads copy 16 bytes each, the last of them more than there are."""
    t = cl.thread_idx.x
    row = cl.shared(i32, (64,))
    if t < 11:
        cl.cp_async(row.at(4 * t), src.at(4 * t), 16)
    cl.cp_async_commit_group()
    cl.cp_async_wait_group(0)
    out[t] = row[0]


def test_a_copy_outside_of_its_array_names_its_thread() -> None:
    with pytest.raises(SimError) as error:
        beyond[1, 32](np.zeros(42, np.int32), np.zeros(64, np.int32))
    assert error.value.code == "out-of-bounds"
    assert error.value.threads == ((10, 0, 0),)
