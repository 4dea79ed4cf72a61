"""Threads that part and meet: every pattern gives what each thread alone would compute, under every schedule."""

from __future__ import annotations

import numpy as np

from tests.sim.kernels import each_seed, kernel

T = np.arange(64)


def test_if_else_nested() -> None:
    function = kernel("""
      %half = const value=16, type=i32
      %low = cmp predicate="lt", a=%lane, b=%half
      cond_br cond=%low, then=^low, other=^high
    ^low:
      %odd = and a=%tid, b=%c1
      %is_odd = cmp predicate="ne", a=%odd, b=%c0
      cond_br cond=%is_odd, then=^meet_low(%c1), other=^meet_low(%c2)
    ^meet_low(%x: i32):
      br to=^meet(%x)
    ^high:
      br to=^meet(%c3)
    ^meet(%y: i32):
      %r = add a=%y, b=%tid
      tensor.store t=%out, coord=(%i), a=%r
      ret
    """)
    expected = np.where(T % 32 < 16, np.where(T % 2, 1, 2), 3) + T
    np.testing.assert_array_equal(each_seed(function), expected)


def test_threads_meet_again_at_once() -> None:
    """Behind the branch all 32 lanes of a warp execute together."""
    function = kernel("""
      %odd = and a=%tid, b=%c1
      %is_odd = cmp predicate="ne", a=%odd, b=%c0
      cond_br cond=%is_odd, then=^a, other=^b
    ^a:
      %in_a = activemask
      br to=^meet(%in_a)
    ^b:
      %in_b = activemask
      br to=^meet(%in_b)
    ^meet(%inside: u32):
      %after = activemask
      %behind = popc a=%after
      %within = popc a=%inside
      %c = const value=100, type=i32
      %m = mul a=%within, b=%c
      %r = add a=%m, b=%behind
      tensor.store t=%out, coord=(%i), a=%r
      ret
    """)
    np.testing.assert_array_equal(each_seed(function), np.full(64, 1632))


def test_loop_with_other_trip_counts() -> None:
    """Sum of 0..tid-1, with `continue` for odd and `break` at 20."""
    function = kernel("""
      %twenty = const value=20, type=i32
      br to=^head(%c0, %c0)
    ^head(%k: i32, %sum: i32):
      %more = cmp predicate="lt", a=%k, b=%tid
      cond_br cond=%more, then=^body, other=^done(%sum)
    ^body:
      %stop = cmp predicate="ge", a=%k, b=%twenty
      cond_br cond=%stop, then=^broken, other=^on
    ^on:
      %next = add a=%k, b=%c1
      %odd = and a=%k, b=%c1
      %skip = cmp predicate="ne", a=%odd, b=%c0
      cond_br cond=%skip, then=^head(%next, %sum), other=^add
    ^add:
      %more_sum = add a=%sum, b=%k
      br to=^head(%next, %more_sum)
    ^broken:
      %marked = add a=%sum, b=%width
      br to=^done(%marked)
    ^done(%r: i32):
      %mask = activemask
      %together = popc a=%mask
      %c = const value=1000, type=i32
      %scaled = mul a=%together, b=%c
      %both = add a=%r, b=%scaled
      tensor.store t=%out, coord=(%i), a=%both
      ret
    """)
    expected = [sum(k for k in range(min(t, 20)) if k % 2 == 0) + (64 if t > 20 else 0) + 32000 for t in T.tolist()]
    np.testing.assert_array_equal(each_seed(function), expected)


def test_early_return() -> None:
    function = kernel("""
      %third = mod a=%tid, b=%c3
      %go = cmp predicate="eq", a=%third, b=%c0
      cond_br cond=%go, then=^out, other=^on
    ^out:
      ret
    ^on:
      tensor.store t=%out, coord=(%i), a=%tid
      %one = cmp predicate="eq", a=%third, b=%c1
      cond_br cond=%one, then=^out, other=^rest
    ^rest:
      %r = add a=%tid, b=%width
      tensor.store t=%out, coord=(%i), a=%r
      ret
    """)
    np.testing.assert_array_equal(each_seed(function), np.where(T % 3 == 0, -1, np.where(T % 3 == 1, T, T + 64)))


def test_swap_in_a_loop() -> None:
    """Arguments of a jump are passed at once: (a, b) -> (b, a) with different trip counts."""
    function = kernel("""
      br to=^head(%c0, %tid, %width)
    ^head(%k: i32, %a: i32, %b: i32):
      %more = cmp predicate="lt", a=%k, b=%lane
      %next = add a=%k, b=%c1
      cond_br cond=%more, then=^head(%next, %b, %a), other=^done
    ^done:
      tensor.store t=%out, coord=(%i), a=%a
      ret
    """)
    np.testing.assert_array_equal(each_seed(function), np.where(T % 32 % 2 == 0, T, 64))


def test_vectors_and_flags_pass_through_branches() -> None:
    function = kernel("""
      %odd = and a=%tid, b=%c1
      %is_odd = cmp predicate="ne", a=%odd, b=%c0
      %v = vec.make items=(%tid, %c1, %c2)
      cond_br cond=%is_odd, then=^a, other=^meet(%v, %is_odd)
    ^a:
      %w = vec.put a=%v, b=%c3, places=(1,)
      %no = not a=%is_odd
      br to=^meet(%w, %no)
    ^meet(%u: vec<i32,3>, %flag: bool):
      %x = vec.gather a=%u, picks=(0,), scalar=True
      %y = vec.gather a=%u, picks=(1,), scalar=True
      %s = add a=%x, b=%y
      %r = select cond=%flag, a=%c0, b=%s
      tensor.store t=%out, coord=(%i), a=%r
      ret
    """)
    np.testing.assert_array_equal(each_seed(function), T + np.where(T % 2, 3, 1))


def test_a_spinning_thread_lets_the_others_run() -> None:
    """A lock around a counter: the thread that has it must get past the meeting point of the spinning ones."""
    function = kernel(
        """
      %lock = tensor.ptr t=%lock_at, coord=(%c0), align=4
      %slot = tensor.ptr t=%lock_at, coord=(%c1), align=4
      br to=^spin
    ^spin:
      %old = atom.cas p=%lock, compare=%c0, a=%c1
      %taken = cmp predicate="ne", a=%old, b=%c0
      cond_br cond=%taken, then=^spin, other=^critical
    ^critical:
      %n = ld.strong p=%slot, type=i32
      %m = add a=%n, b=%c1
      st.strong p=%slot, a=%m
      tensor.store t=%out, coord=(%i), a=%n
      %free = atom p=%lock, operation="exch", a=%c0
      ret
        """,
        "%out: tensor<i32,gmem,4096:1,16>, %lock_at: tensor<i32,gmem,2:1,16>",
    )
    from cutelite import sim

    for seed in range(3):
        out, lock = np.full(4096, -1, np.int32), np.zeros(2, np.int32)
        sim.run(function, 1, [out, lock], seed=seed, strict=True)
        assert sorted(out[:64].tolist()) == list(range(64))
        assert lock.tolist() == [0, 64]


def test_lanes_wait_for_lanes_of_their_own_warp() -> None:
    """Lane 0 spins until lane 31, which is past the branch, sets a flag."""
    function = kernel(
        """
      %p = tensor.ptr t=%flag, coord=(%c0), align=4
      %is_first = cmp predicate="eq", a=%tid, b=%c0
      cond_br cond=%is_first, then=^spin, other=^meet
    ^spin:
      %seen = ld.strong p=%p, type=i32
      %unset = cmp predicate="eq", a=%seen, b=%c0
      cond_br cond=%unset, then=^spin, other=^meet
    ^meet:
      %last = const value=31, type=i32
      %is_last = cmp predicate="eq", a=%tid, b=%last
      cond_br cond=%is_last, then=^set, other=^done
    ^set:
      st.strong p=%p, a=%c1
      br to=^done
    ^done:
      tensor.store t=%out, coord=(%i), a=%tid
      ret
        """,
        "%out: tensor<i32,gmem,4096:1,16>, %flag: tensor<i32,gmem,1:1,16>",
        block=32,
    )
    from cutelite import sim

    for seed in range(4):
        out, flag = np.full(4096, -1, np.int32), np.zeros(1, np.int32)
        sim.run(function, 1, [out, flag], seed=seed)
        np.testing.assert_array_equal(out[:32], np.arange(32))


def test_blocks_wait_for_each_other() -> None:
    """A chain through global memory: block b waits for block b + 1, so all must be able to run at once."""
    function = kernel(
        """
      %next = add a=%block, b=%c1
      %mine = tensor.ptr t=%flags, coord=(%block), align=4
      %other = tensor.ptr t=%flags, coord=(%next), align=4
      %blocks = special register="nctaid.x"
      %is_last = cmp predicate="eq", a=%next, b=%blocks
      cond_br cond=%is_last, then=^go, other=^spin
    ^spin:
      %seen = ld.strong p=%other, type=i32
      %unset = cmp predicate="eq", a=%seen, b=%c0
      cond_br cond=%unset, then=^spin, other=^go
    ^go:
      st.strong p=%mine, a=%c1
      tensor.store t=%out, coord=(%i), a=%tid
      ret
        """,
        "%out: tensor<i32,gmem,4096:1,16>, %flags: tensor<i32,gmem,8:1,16>",
        block=1,
    )
    from cutelite import sim

    out, flags = np.full(4096, -1, np.int32), np.zeros(8, np.int32)
    sim.run(function, 3, [out, flags])
    assert out[:3].tolist() == [0, 0, 0]
