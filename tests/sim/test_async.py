"""Asynchronous copies: at any moment between issue and wait, in any order; and what a forgotten wait looks like."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import cutelite as cl
from cutelite import i32
from cutelite.ir.function import Function
from cutelite.sim import SimError
from tests.sim import strict
from tests.sim.kernels import SEEDS, ints, traced


def run(function: Function, seed: int, grid: int = 1, **options: Any) -> np.ndarray[Any, Any]:
    """`b`, after a kernel of the parameters `a` and `b` was run with a = 0, 1, 2, ..."""
    a, b = np.arange(1024, dtype=np.int32), np.full(1024, -1, np.int32)
    strict.run(function, grid, [a, b], seed=seed, **options)
    return b


def copying(wait: Callable[[], None], **how: Any) -> Function:
    """Each thread copies 16 bytes to shared memory, waits, and moves them on."""

    def body(a: Any, b: Any) -> None:
        tile, t = cl.shared(i32, (256,)), cl.thread_idx.x
        cl.cp_async(tile.at(4 * t), a.at(4 * t), 16, **how)
        cl.cp_async_commit_group()
        wait()
        b.tile(4, t).store(tile.tile(4, t).load())

    return traced(body, a=ints(1024), b=ints(1024))


def nothing() -> None:
    pass


def test_cp_async() -> None:
    function = copying(lambda: cl.cp_async_wait_group(0))
    for seed in SEEDS:
        np.testing.assert_array_equal(run(function, seed)[:256], np.arange(256))


def test_cp_async_fills_with_zeros() -> None:
    function = copying(cl.cp_async_wait_all, src_bytes=8)
    expected = np.where(np.arange(256) % 4 < 2, np.arange(256), 0)
    for seed in SEEDS:
        np.testing.assert_array_equal(run(function, seed)[:256], expected)


@pytest.mark.parametrize("wait", [nothing, lambda: cl.cp_async_wait_group(1)])
def test_a_forgotten_wait_is_found_when_copies_come_late(wait: Callable[[], None]) -> None:
    function = copying(wait)
    with pytest.raises(SimError) as caught:
        run(function, 0)
    assert caught.value.code == "uninitialised"
    np.testing.assert_array_equal(run(function, 1)[:256], np.arange(256))  # at once: it seems to work


def test_groups_are_each_threads_own() -> None:
    """Two groups; waiting for all but one leaves the second in flight, under the late schedule."""

    def body(a: Any, b: Any) -> None:
        tile, t = cl.shared(i32, (128,)), cl.thread_idx.x
        for i in (t, t + 64):
            tile[i] = 3
        for i in (t, t + 64):
            cl.cp_async(tile.at(i), a.at(i), 4)
            cl.cp_async_commit_group()
        cl.cp_async_wait_group(1)
        for i in (t, t + 64):
            b[i] = tile[i]

    function = traced(body, a=ints(1024), b=ints(1024))
    late, early = run(function, 0), run(function, 1)
    np.testing.assert_array_equal(late[:128], [*range(64), *[3] * 64])
    np.testing.assert_array_equal(early[:128], np.arange(128))


def await_barrier(bar: Any) -> None:
    bar.wait(0)


def spin(bar: Any) -> None:
    """A loop of the kernel's own around test_wait."""
    while not bar.test_wait(0):
        pass


def drain() -> None:
    cl.cp_async_bulk_wait_group(0)


def bulk(
    wait: Callable[[Any], None] = await_barrier, drain: Callable[[], None] = drain, expect: int = 1024,
    meanwhile: Callable[[Any], None] = lambda tile: None,
) -> Function:  # fmt: skip
    """A block brings 1024 bytes, adds 1 to each number, and sends them; `meanwhile` the store is under way."""

    def body(a: Any, b: Any) -> None:
        tile, bar, t = cl.shared(i32, (256,), align=128), cl.shared(cl.mbarrier, (1,)), cl.thread_idx.x
        if t == 0:
            bar[0].init(1)
            cl.fence_mbarrier_init()
            bar[0].arrive_expect_tx(expect)
            cl.cp_async_bulk(tile, a, 1024, barrier=bar[0])
        cl.syncthreads()
        wait(bar[0])
        tile[t] = tile[t] + 1
        cl.fence_proxy_async()
        cl.syncthreads()
        if t == 0:
            cl.cp_async_bulk(b, tile, 1024)
            cl.cp_async_bulk_commit_group()
            meanwhile(tile)
            drain()

    return traced(body, block=256, a=ints(1024), b=ints(1024))


@pytest.mark.parametrize("wait", [await_barrier, spin])
@pytest.mark.parametrize("drain", [drain, lambda: cl.cp_async_bulk_wait_group(0, read=True)])
def test_bulk_copies_in_and_out(wait: Callable[[Any], None], drain: Callable[[], None]) -> None:
    """They come also where somebody can always go on."""
    function = bulk(wait, drain)
    for seed in SEEDS:
        np.testing.assert_array_equal(run(function, seed)[:256], np.arange(256) + 1)


def test_a_load_that_is_not_waited_for() -> None:
    with pytest.raises(SimError) as caught:
        run(bulk(lambda bar: None), 0)
    assert caught.value.code == "uninitialised"


def test_a_store_that_outlives_its_block() -> None:
    """Without a wait for its reads, the block's shared memory is gone when the store comes to read it."""
    with pytest.raises(SimError) as caught:
        run(bulk(drain=nothing), 0)
    assert caught.value.code == "exited-block"
    assert caught.value.op is not None
    assert caught.value.op.name == "cp.async.bulk"


@pytest.mark.parametrize(("expect", "says"), [(1040, "16 bytes are missing"), (1008, "16 bytes came unexpected")])
def test_bytes_that_do_not_add_up(expect: int, says: str) -> None:
    with pytest.raises(SimError) as caught:
        run(bulk(expect=expect), 0)
    assert caught.value.code == "deadlock"
    assert says in str(caught.value)


def test_work_may_finish_in_any_order() -> None:
    """Two stores to the same place: under some seed the first one wins, under another the second."""

    def body(a: Any, b: Any) -> None:
        tile = cl.shared(i32, (2, 4), align=128)
        if cl.thread_idx.x == 0:
            for i in (0, 1):
                tile[i, None].fill(i + 1)
            cl.fence_proxy_async()
            for i in (0, 1):
                cl.cp_async_bulk(b, tile.at(i, 0), 16)
            cl.cp_async_bulk_commit_group()
            cl.cp_async_bulk_wait_group(0)

    function = traced(body, block=32, a=ints(1024), b=ints(1024))
    assert {int(run(function, seed)[0]) for seed in range(40)} == {1, 2}


def test_sources_may_be_read_late() -> None:
    """Overwriting the source before the read is waited for shows under the late schedule."""

    def overwrite(tile: Any) -> None:
        tile[0] = 3

    function = bulk(meanwhile=overwrite)
    assert int(run(function, 0)[0]) == 3
    assert int(run(function, 1)[0]) == 1


def test_the_same_seed_gives_the_same_run() -> None:
    class Recorder:
        def __init__(self) -> None:
            self.events: list[object] = []

        def access(self, who: object, region: Any, offset: Any, unit: int, kind: str, data: Any) -> None:
            self.events.append((region.base, offset.tolist(), unit, kind))

        def tolerates(self, error: SimError) -> bool:
            return False

        def event(self, machine: Any, event: object) -> None:
            self.events.append((machine.index, type(event).__name__))

    function = bulk()
    seen = []
    for seed in (5, 5, 6):
        recorder = Recorder()
        run(function, seed, grid=3, observer=recorder)
        seen.append(recorder.events)
    assert seen[0] == seen[1]
    assert seen[0] != seen[2]
    kinds = {event[-1] for event in seen[0]}
    assert {"read", "write", "Fence", "MbarrierInit", "MbarrierArrive", "MbarrierPhase", "MbarrierWait"} <= kinds
    assert {"BarrierArrive", "WorkStart", "WorkComplete", "WorkDone", "GroupWait", "Exit", "Retire"} <= kinds
