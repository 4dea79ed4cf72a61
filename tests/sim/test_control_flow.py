"""Threads that part and meet: every pattern gives what each thread alone would compute, under every schedule."""

from typing import Any

import numpy as np

import cutelite as cl
from cutelite import sim
from tests.sim import strict
from tests.sim.kernels import each_seed, ints, traced

T = np.arange(64)


def test_threads_meet_again_at_once() -> None:
    """Behind the branch all 32 lanes of a warp execute together."""

    def body(out: Any) -> None:
        if cl.thread_idx.x % 2 == 1:
            inside = cl.active_mask()
        else:
            inside = cl.active_mask()
        out[cl.thread_idx.x] = 100 * cl.popc(inside) + cl.popc(cl.active_mask())

    assert set(each_seed(traced(body)).tolist()) == {1632}


def test_loop_with_other_trip_counts() -> None:
    """Sum of 0..t-1, with `continue` for odd and `break` at 20; behind it all are together again."""

    def body(out: Any) -> None:
        t, total = cl.thread_idx.x, 0
        for k in range(t):
            if k >= 20:
                total += 64
                break
            if k % 2 == 1:
                continue
            total += k
        out[t] = total + 1000 * cl.popc(cl.active_mask())

    expected = [sum(k for k in range(min(t, 20)) if k % 2 == 0) + (64 if t > 20 else 0) + 32000 for t in T.tolist()]
    np.testing.assert_array_equal(each_seed(traced(body)), expected)


def test_early_return() -> None:
    def body(out: Any) -> None:
        t = cl.thread_idx.x
        for k in range(t % 4):
            if t % 3 == k:
                return
        out[t] = t
        if t % 2 == 1:
            return
        out[t] = t + 64

    stays = np.array([t % 3 >= t % 4 for t in T.tolist()])
    np.testing.assert_array_equal(each_seed(traced(body)), np.where(stays, T + 64 * (1 - T % 2), -1))


def test_swap_in_a_loop() -> None:
    """Arguments of a jump are passed at once: (a, b) -> (b, a) with different trip counts."""

    def body(out: Any) -> None:
        a, b = cl.thread_idx.x, cl.i32(64)
        for _ in range(cl.lane_idx()):
            a, b = b, a
        out[cl.thread_idx.x] = a

    np.testing.assert_array_equal(each_seed(traced(body)), np.where(T % 32 % 2 == 0, T, 64))


def test_vectors_and_flags_pass_through_branches() -> None:
    def body(out: Any) -> None:
        t = cl.thread_idx.x
        v, flag = cl.vector(t, 1, 2), t % 2 == 1
        if flag:
            v, flag = cl.vector(t, 3, 2), t < 0
        out[t] = cl.where(flag, 0, v[0] + v[1])

    np.testing.assert_array_equal(each_seed(traced(body)), T + np.where(T % 2, 3, 1))


def test_a_spinning_thread_lets_the_others_run() -> None:
    """A lock around a counter: the thread that has it must get past the meeting point of the spinning ones."""

    def body(out: Any, lock: Any) -> None:
        while cl.atomic_cas(lock, 0, 0, 1) != 0:
            pass
        n = cl.load_acquire(lock, 1)
        cl.store_release(lock, 1, n + 1)
        out[cl.thread_idx.x] = n
        cl.atomic_exch(lock, 0, 0)

    function = traced(body, lock=ints(2))
    for seed in range(3):
        out, lock = np.full(4096, -1, np.int32), np.zeros(2, np.int32)
        strict.run(function, 1, [out, lock], seed=seed)
        assert sorted(out[:64].tolist()) == list(range(64))
        assert lock.tolist() == [0, 64]


def test_lanes_wait_for_lanes_of_their_own_warp() -> None:
    """Lane 0 spins until lane 31, which is past the branch, sets a flag."""

    def body(out: Any, flag: Any) -> None:
        t = cl.thread_idx.x
        if t == 0:
            while cl.load_acquire(flag, 0) == 0:
                pass
        if t == 31:
            cl.store_release(flag, 0, 1)
        out[t] = t

    function = traced(body, block=32, flag=ints(1))
    for seed in range(4):
        out, flag = np.full(4096, -1, np.int32), np.zeros(1, np.int32)
        sim.run(function, 1, [out, flag], seed=seed)
        np.testing.assert_array_equal(out[:32], np.arange(32))


def test_blocks_wait_for_each_other() -> None:
    """A chain through global memory: block b waits for block b + 1, so all must be able to run at once."""

    def body(out: Any, flags: Any) -> None:
        b = cl.block_idx.x
        if b + 1 != cl.grid_dim.x:
            while cl.load_acquire(flags, b + 1) == 0:
                pass
        cl.store_release(flags, b, 1)
        out[b] = b

    out = np.full(4096, -1, np.int32)
    sim.run(traced(body, block=1, flags=ints(8)), 3, [out, np.zeros(8, np.int32)])
    assert out[:3].tolist() == [0, 1, 2]
