"""Asynchronous copies: at any moment between issue and wait, in any order; and what a forgotten wait looks like."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from cutelite import sim
from cutelite.ir.function import Function
from cutelite.sim import SimError
from tests.sim.kernels import SEEDS, kernel

AB = "%a: tensor<i32,gmem,1024:1,16>, %b: tensor<i32,gmem,1024:1,16>"


def run(function: Function, seed: int, grid: int = 1, **options: Any) -> np.ndarray[Any, Any]:
    """`b`, after a kernel of the parameters `AB` was run with a = 0, 1, 2, ..."""
    a, b = np.arange(1024, dtype=np.int32), np.full(1024, -1, np.int32)
    sim.run(function, grid, [a, b], seed=seed, strict=True, **options)
    return b


CP_ASYNC = """
  %tile = smem.alloc type=tensor<i32,smem,256:1,16>
  %sixteen = const value=16, type=i32
  %bytes = mul a=%tid, b=%sixteen
  %s0 = tensor.ptr t=%a, coord=(%c0), align=16
  %d0 = tensor.ptr t=%tile, coord=(%c0), align=16
  %s = ptr.add p=%s0, bytes=%bytes, align=16
  %d = ptr.add p=%d0, bytes=%bytes, align=16
  cp.async dst=%d, src=%s, bytes=16{more}
  cp.async.commit_group
  {wait}
  %v = ld p=%d, type=vec<i32,4>
  %o0 = tensor.ptr t=%b, coord=(%c0), align=16
  %o = ptr.add p=%o0, bytes=%bytes, align=16
  st p=%o, a=%v
  ret
"""


def test_cp_async() -> None:
    function = kernel(CP_ASYNC.format(wait="cp.async.wait_group n=0", more=""), AB)
    for seed in SEEDS:
        np.testing.assert_array_equal(run(function, seed)[:256], np.arange(256))


def test_cp_async_fills_with_zeros() -> None:
    text = CP_ASYNC.format(wait="cp.async.wait_all", more=", src_bytes=%half")
    function = kernel("  %half = const value=8, type=i32\n" + text, AB)
    expected = np.where(np.arange(256) % 4 < 2, np.arange(256), 0)
    for seed in SEEDS:
        np.testing.assert_array_equal(run(function, seed)[:256], expected)


@pytest.mark.parametrize("wait", ["", "cp.async.wait_group n=1"])
def test_a_forgotten_wait_is_found_when_copies_come_late(wait: str) -> None:
    function = kernel(CP_ASYNC.format(wait=wait, more=""), AB)
    with pytest.raises(SimError) as caught:
        run(function, 0)
    assert caught.value.code == "uninitialised"
    np.testing.assert_array_equal(run(function, 1)[:256], np.arange(256))  # at once: it seems to work


def test_groups_are_each_threads_own() -> None:
    """Two groups; waiting for all but one leaves the second in flight, under the late schedule."""
    function = kernel(
        """
      %tile = smem.alloc type=tensor<i32,smem,128:1,16>
      %four = const value=4, type=i32
      %bytes = mul a=%tid, b=%four
      %s0 = tensor.ptr t=%a, coord=(%c0), align=4
      %d0 = tensor.ptr t=%tile, coord=(%c0), align=4
      %s = ptr.add p=%s0, bytes=%bytes, align=4
      %d = ptr.add p=%d0, bytes=%bytes, align=4
      %far = const value=256, type=i32
      %s2 = ptr.add p=%s, bytes=%far, align=4
      %d2 = ptr.add p=%d, bytes=%far, align=4
      tensor.store t=%tile, coord=(%tid), a=%c3
      %second = add a=%tid, b=%width
      tensor.store t=%tile, coord=(%second), a=%c3
      cp.async dst=%d, src=%s, bytes=4
      cp.async.commit_group
      cp.async dst=%d2, src=%s2, bytes=4
      cp.async.commit_group
      cp.async.wait_group n=1
      %x = ld p=%d, type=i32
      %y = ld p=%d2, type=i32
      tensor.store t=%b, coord=(%tid), a=%x
      tensor.store t=%b, coord=(%second), a=%y
      ret
        """,
        AB,
    )
    late, early = run(function, 0), run(function, 1)
    np.testing.assert_array_equal(late[:128], [*range(64), *[3] * 64])
    np.testing.assert_array_equal(early[:128], np.arange(128))


BULK = """
  %tile = smem.alloc type=tensor<i32,smem,256:1,128>
  %bar = smem.alloc type=tensor<mbarrier,smem,1:1,8>
  %p = tensor.ptr t=%bar, coord=(%c0), align=8
  %bytes = const value=1024, type=i32
  %u_bytes = const value={expect}, type=u32
  %is_first = cmp predicate="eq", a=%tid, b=%c0
  cond_br cond=%is_first, then=^load, other=^meet
^load:
  mbarrier.init bar=%p, count=%c1
  fence.mbarrier_init
  %state = mbarrier.arrive.expect_tx bar=%p, bytes=%u_bytes
  cp.async.bulk dst=%tile, src=%a, bytes=%bytes, barrier=%p
  br to=^meet
^meet:
  bar.sync
  {wait}
  %x = tensor.load t=%tile, coord=(%tid)
  %y = add a=%x, b=%c1
  tensor.store t=%tile, coord=(%tid), a=%y
  fence.proxy.async
  bar.sync
  cond_br cond=%is_first, then=^store, other=^done
^store:
  cp.async.bulk dst=%b, src=%tile, bytes=%bytes
  cp.async.bulk.commit_group
  {drain}
  br to=^done
^done:
  ret
"""
WAIT = "mbarrier.wait bar=%p, phase=%c0"


@pytest.mark.parametrize("drain", ["cp.async.bulk.wait_group n=0", "cp.async.bulk.wait_group n=0, read=True"])
def test_bulk_copies_in_and_out(drain: str) -> None:
    function = kernel(BULK.format(expect=1024, wait=WAIT, drain=drain), AB, block=256)
    for seed in SEEDS:
        np.testing.assert_array_equal(run(function, seed)[:256], np.arange(256) + 1)


def test_spinning_on_a_load() -> None:
    """A loop of the kernel's own around test_wait: the copy must come though somebody can always go on."""
    loop = """br to=^spin
^spin:
  %done = mbarrier.test_wait bar=%p, phase=%c0
  cond_br cond=%done, then=^on, other=^spin
^on:"""
    drain = "cp.async.bulk.wait_group n=0"
    function = kernel(BULK.format(expect=1024, wait=loop, drain=drain), AB, block=256)
    for seed in SEEDS:
        np.testing.assert_array_equal(run(function, seed)[:256], np.arange(256) + 1)


def test_a_load_that_is_not_waited_for() -> None:
    function = kernel(BULK.format(expect=1024, wait="", drain=""), AB, block=256)
    with pytest.raises(SimError) as caught:
        run(function, 0)
    assert caught.value.code == "uninitialised"


def test_a_store_that_outlives_its_block() -> None:
    """Without a wait for its reads, the block's shared memory is gone when the store comes to read it."""
    function = kernel(BULK.format(expect=1024, wait=WAIT, drain=""), AB, block=256)
    with pytest.raises(SimError) as caught:
        run(function, 0)
    assert caught.value.code == "exited-block"
    assert caught.value.op is not None
    assert caught.value.op.name == "cp.async.bulk"


@pytest.mark.parametrize(("expect", "says"), [(1040, "16 bytes are missing"), (1008, "16 bytes came unexpected")])
def test_bytes_that_do_not_add_up(expect: int, says: str) -> None:
    function = kernel(BULK.format(expect=expect, wait=WAIT, drain=""), AB, block=256)
    with pytest.raises(SimError) as caught:
        run(function, 0)
    assert caught.value.code == "deadlock"
    assert says in str(caught.value)


def test_work_may_finish_in_any_order() -> None:
    """Two stores to the same place: under some seed the first one wins, under another the second."""
    function = kernel(
        """
      %tile = smem.alloc type=tensor<i32,smem,8:1,128>
      %four = const value=4, type=i32
      %is_first = cmp predicate="eq", a=%tid, b=%c0
      cond_br cond=%is_first, then=^go, other=^done
    ^go:
      %v = vec.splat a=%c1, n=4
      %w = vec.splat a=%c2, n=4
      %p = tensor.ptr t=%tile, coord=(%c0), align=16
      %q = tensor.ptr t=%tile, coord=(%four), align=16
      st p=%p, a=%v
      st p=%q, a=%w
      fence.proxy.async
      %bytes = const value=16, type=i32
      cp.async.bulk dst=%b, src=%p, bytes=%bytes
      cp.async.bulk dst=%b, src=%q, bytes=%bytes
      cp.async.bulk.commit_group
      cp.async.bulk.wait_group n=0
      br to=^done
    ^done:
      ret
        """,
        AB,
        block=32,
    )
    assert {int(run(function, seed)[0]) for seed in range(40)} == {1, 2}


def test_sources_may_be_read_late() -> None:
    """Overwriting the source before the read is waited for shows under the late schedule."""
    text = BULK.format(expect=1024, wait=WAIT, drain="").replace(
        "cp.async.bulk.commit_group\n", "cp.async.bulk.commit_group\n  tensor.store t=%tile, coord=(%c0), a=%c3\n"
    )
    function = kernel(text.replace("  br to=^done\n", "  cp.async.bulk.wait_group n=0\n  br to=^done\n"), AB, block=256)
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

    function = kernel(BULK.format(expect=1024, wait=WAIT, drain="cp.async.bulk.wait_group n=0"), AB, block=256)
    seen = []
    for seed in (5, 5, 6):
        recorder = Recorder()
        run(function, seed, grid=3, observer=recorder)
        seen.append(recorder.events)
    assert seen[0] == seen[1]
    assert seen[0] != seen[2]
    kinds = {event[-1] for event in seen[0]}  # type: ignore[index]
    assert {"read", "write", "Fence", "MbarrierInit", "MbarrierArrive", "MbarrierPhase", "MbarrierWait"} <= kinds
    assert {"BarrierArrive", "WorkStart", "WorkComplete", "WorkDone", "GroupWait", "Exit", "Retire"} <= kinds
