"""The beginning and the end of the kernels of these tests."""

from __future__ import annotations

from typing import Any

import cutelite as cl


def barrier() -> Any:
    """An mbarrier for one arrival; threads meet before they wait at it."""
    done = cl.shared(cl.mbarrier, (1,))
    if cl.thread_idx.x == 0:
        done[0].init(1)
        cl.fence_mbarrier_init()
    return done


def finished(done: Any) -> None:
    """Wait for the products that `done` was told of."""
    done[0].wait(0)
    cl.tcgen05.fence_after_thread_sync()


def write(c: Any, acc: Any, row: Any = 0) -> None:
    """Write sums from tensor memory: each thread's lane to a row, from `row` on."""
    mine = cl.tcgen05.wait_load(cl.tcgen05.load(acc))
    for j in cl.static_range(len(mine)):
        c[row + cl.thread_idx.x, j] = mine[j]
