"""Blocks of a cluster: each other's shared memory, their barrier, multicast, and blocks that leave too early."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from cutelite import sim
from cutelite.ir.function import Function
from cutelite.sim import SimError
from tests.sim.kernels import SEEDS, each_seed, errors, kernel

SYNC = "barrier.cluster.arrive\n  barrier.cluster.wait"


def clustered(body: str, size: int = 2, **options: Any) -> Function:
    return kernel(body, cluster=(size, 1, 1), **options)


EXCHANGE = """
  %tile = smem.alloc type=tensor<i32,smem,64:1,16>
  %rank = special register="cluster_ctarank"
  tensor.store t=%tile, coord=(%tid), a=%i
  {before}
  %size = special register="cluster_nctarank"
  %up = add a=%rank, b=%c1
  %other = mod a=%up, b=%size
  %theirs = mapa p=%tile, rank=%other
  %x = tensor.load t=%theirs, coord=(%tid)
  {after}
  tensor.store t=%out, coord=(%i), a=%x
  ret
"""


def test_read_a_neighbours_shared_memory() -> None:
    function = clustered(EXCHANGE.format(before=SYNC, after=SYNC), size=4)
    i = np.arange(8 * 64)
    block = i // 64
    expected = (block // 4 * 4 + (block + 1) % 4) * 64 + i % 64
    np.testing.assert_array_equal(each_seed(function, 8), expected)


def test_a_block_that_leaves_while_others_read_it() -> None:
    function = clustered(EXCHANGE.format(before=SYNC, after=""))
    assert {error.code for error in errors(function, 2)} == {"exited-block"}


def test_a_missing_cluster_barrier() -> None:
    function = clustered(EXCHANGE.format(before="", after=SYNC))
    assert {error.code for error in errors(function, 2)} == {"uninitialised"}


def test_atomics_in_another_block() -> None:
    """All threads of the cluster count in the shared memory of rank 0."""
    function = clustered("""
      %counter = smem.alloc type=tensor<i32,smem,1:1,4>
      %is_first = cmp predicate="eq", a=%tid, b=%c0
      cond_br cond=%is_first, then=^init, other=^go
    ^init:
      tensor.store t=%counter, coord=(%c0), a=%c0
      br to=^go
    ^go:
      barrier.cluster.arrive
      barrier.cluster.wait
      %p = tensor.ptr t=%counter, coord=(%c0), align=4
      %there = mapa p=%p, rank=%c0
      red p=%there, operation="add", a=%c1
      barrier.cluster.arrive
      barrier.cluster.wait
      %n = ld p=%there, type=i32
      tensor.store t=%out, coord=(%i), a=%n
      barrier.cluster.arrive
      barrier.cluster.wait
      ret
    """)
    assert set(each_seed(function, 4).tolist()) == {128}


def test_outside_of_the_cluster() -> None:
    function = clustered("""
      %tile = smem.alloc type=tensor<i32,smem,64:1,16>
      %theirs = mapa p=%tile, rank=%c1
      %p = tensor.ptr t=%theirs, coord=(%c0), align=4
      %next_block = const value=16777216, type=i32
      %q = ptr.add p=%p, bytes=%next_block, align=4
      %x = ld p=%q, type=i32
      ret
    """)
    with pytest.raises(SimError) as caught:
        sim.run(function, 2, [np.zeros(4096, np.int32)])
    assert caught.value.code == "out-of-bounds"


@pytest.mark.parametrize(
    ("body", "says"),
    [
        ("barrier.cluster.arrive\n  barrier.cluster.arrive", "a second arrival"),
        ("barrier.cluster.wait", "without an arrival"),
    ],
)
def test_misuse_of_the_cluster_barrier(body: str, says: str) -> None:
    with pytest.raises(SimError, match=says):
        sim.run(clustered(f"  {body}\n  ret\n"), 2, [np.zeros(4096, np.int32)])


def test_a_block_that_does_not_come_to_the_cluster_barrier() -> None:
    function = clustered("""
      %rank = special register="cluster_ctarank"
      %is_first = cmp predicate="eq", a=%rank, b=%c0
      %bar = smem.alloc type=tensor<mbarrier,smem,1:1,8>
      %p = tensor.ptr t=%bar, coord=(%c0), align=8
      %count = const value=65, type=i32
      cond_br cond=%is_first, then=^stuck, other=^meet
    ^stuck:
      %init = cmp predicate="eq", a=%tid, b=%c0
      cond_br cond=%init, then=^init, other=^wait
    ^init:
      mbarrier.init bar=%p, count=%count
      br to=^wait
    ^wait:
      bar.sync
      mbarrier.wait bar=%p, phase=%c0
      br to=^meet
    ^meet:
      barrier.cluster.arrive
      barrier.cluster.wait
      ret
    """)
    for seed in range(4):
        with pytest.raises(SimError) as caught:
            sim.run(function, 2, [np.zeros(4096, np.int32)], seed=seed)
        assert caught.value.code == "deadlock"
        assert "cluster barrier: 64 of 128 threads arrived" in str(caught.value)
        assert "block (1, 0, 0)" in str(caught.value)


REMOTE_ARRIVE = """
  %bar = smem.alloc type=tensor<mbarrier,smem,1:1,8>
  %p = tensor.ptr t=%bar, coord=(%c0), align=8
  %count = const value=128, type=i32
  %is_first = cmp predicate="eq", a=%tid, b=%c0
  cond_br cond=%is_first, then=^init, other=^go
^init:
  mbarrier.init bar=%p, count=%count
  fence.mbarrier_init
  br to=^go
^go:
  barrier.cluster.arrive
  barrier.cluster.wait
  %zero = mapa p=%p, rank=%c0
  %one = mapa p=%p, rank=%c1
  mbarrier.arrive bar=%zero
  mbarrier.arrive bar=%one
  mbarrier.wait bar=%p, phase=%c0
  tensor.store t=%out, coord=(%i), a=%tid
  ret
"""


def test_arrivals_from_other_blocks() -> None:
    np.testing.assert_array_equal(each_seed(clustered(REMOTE_ARRIVE), 4), np.tile(np.arange(64), 4))


MULTICAST = """
  %tile = smem.alloc type=tensor<i32,smem,64:1,128>
  %bar = smem.alloc type=tensor<mbarrier,smem,1:1,8>
  %p = tensor.ptr t=%bar, coord=(%c0), align=8
  %bytes = const value=256, type=i32
  %u_bytes = const value=256, type=u32
  %mask = const value={mask}, type=u16
  %rank = special register="cluster_ctarank"
  %is_first = cmp predicate="eq", a=%tid, b=%c0
  cond_br cond=%is_first, then=^init, other=^meet
^init:
  mbarrier.init bar=%p, count=%c1
  fence.mbarrier_init
  %state = mbarrier.arrive.expect_tx bar=%p, bytes=%u_bytes
  br to=^meet
^meet:
  barrier.cluster.arrive
  barrier.cluster.wait
  %is_leader = add a=%tid, b=%rank
  %leads = cmp predicate="eq", a=%is_leader, b=%c0
  cond_br cond=%leads, then=^load, other=^wait
^load:
  cp.async.bulk dst=%tile, src=%a, bytes=%bytes, barrier=%p, multicast=%mask
  br to=^wait
^wait:
  mbarrier.wait bar=%p, phase=%c0
  %x = tensor.load t=%tile, coord=(%tid)
  tensor.store t=%out, coord=(%i), a=%x
  ret
"""
PARAMS = "%out: tensor<i32,gmem,4096:1,16>, %a: tensor<i32,gmem,64:1,16>"


def test_multicast() -> None:
    function = clustered(MULTICAST.format(mask=0b11), params=PARAMS)
    for seed in SEEDS:
        out, a = np.full(4096, -1, np.int32), np.arange(64, dtype=np.int32) * 7
        sim.run(function, 4, [out, a], seed=seed, strict=True)
        np.testing.assert_array_equal(out[:256], np.tile(a, 4))


def test_multicast_that_leaves_a_block_out() -> None:
    function = clustered(MULTICAST.format(mask=0b01), params=PARAMS)
    with pytest.raises(SimError) as caught:
        sim.run(function, 2, [np.full(4096, -1, np.int32), np.arange(64, dtype=np.int32)])
    assert caught.value.code == "deadlock"
    assert "256 bytes are missing" in str(caught.value)


def test_special_registers() -> None:
    function = kernel(
        """
      %x = special register="cluster_ctaid.x"
      %y = special register="cluster_ctaid.y"
      %cx = special register="clusterid.x"
      %cy = special register="clusterid.y"
      %rank = special register="cluster_ctarank"
      %n = special register="cluster_nctarank"
      %ten = const value=10, type=i32
      %a = mul a=%cy, b=%ten
      %b = add a=%a, b=%cx
      %c = mul a=%b, b=%ten
      %d = add a=%c, b=%y
      %e = mul a=%d, b=%ten
      %f = add a=%e, b=%x
      %g = mul a=%f, b=%ten
      %h = add a=%g, b=%rank
      %k = mul a=%h, b=%ten
      %r = add a=%k, b=%n
      %by = special register="ctaid.y"
      %nx = special register="nctaid.x"
      %row = mul a=%by, b=%nx
      %linear = add a=%row, b=%block
      tensor.store t=%out, coord=(%linear), a=%r
      ret
        """,
        block=1,
        cluster=(2, 2, 1),
    )
    out = np.full(4096, -1, np.int32)
    sim.run(function, (4, 4), [out], strict=True)
    expected = [
        (y // 2) * 10**5 + (x // 2) * 10**4 + (y % 2) * 1000 + (x % 2) * 100 + (x % 2 + 2 * (y % 2)) * 10 + 4
        for y in range(4)
        for x in range(4)
    ]
    np.testing.assert_array_equal(out[:16], expected)
