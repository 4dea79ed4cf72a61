"""Values of strands: parted and joined values are those of each thread alone; fixed results those of each execution."""

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from cutelite import sim
from cutelite.sim.program import Program
from cutelite.sim.values import Values, joined
from tests.sim.kernels import kernel

THREADS, DEEPEST = 12, 4


def always(key: object) -> bool:
    return True


@given(st.data())
@settings(max_examples=60, deadline=None)
def test_parted_and_joined_values_are_those_of_each_thread(data: st.DataObject) -> None:
    """Parts of parts read and write by themselves; joined in any order, and over several partings, they hold what each
    thread held.
    """
    tid = np.arange(THREADS)
    right = {name: tid * factor for name, factor in (("a", 1), ("b", 10))}

    def parted(values: Values, tid: np.ndarray, depth: int) -> list[tuple[np.ndarray, Values]]:
        """Send threads through branches of their own; return the values of those that have not met again yet."""
        for _ in range(data.draw(st.integers(0, 2))):
            name, more = data.draw(st.sampled_from("abc")), data.draw(st.integers(1, 5))
            if values.has(name):
                np.testing.assert_array_equal(values[name], right[name][tid])
            values[name] = tid + 100 * more
            right.setdefault(name, np.full(THREADS, -1))[tid] = values[name]
        if depth == DEEPEST + 2 or len(tid) < 2 or not data.draw(st.booleans()):
            return [(tid, values)]
        which = np.array(data.draw(st.lists(st.booleans(), min_size=len(tid), max_size=len(tid))))
        if which.all() or not which.any():
            return [(tid, values)]
        base = values.only(always) if values.depth >= DEEPEST else values
        sides = [which.nonzero()[0], (~which).nonzero()[0]]
        parts = data.draw(
            st.permutations([part for side in sides for part in parted(base.of(side), tid[side], depth + 1)])
        )
        some = data.draw(st.integers(1, len(parts)))
        return [met(parts[:some]), *parts[some:]]

    def met(parts: list[tuple[np.ndarray, Values]]) -> tuple[np.ndarray, Values]:
        together = np.concatenate([tid for tid, _ in parts])
        order = None if (np.diff(together) > 0).all() else together.argsort()
        return np.sort(together), joined([values for _, values in parts], order, always)

    _, values = met(parted(Values(right, THREADS), tid, 0))
    assert values.threads == THREADS
    for name in values.every():
        np.testing.assert_array_equal(values[name], right[name])


def test_values_that_only_some_parts_have_are_not_there_afterwards() -> None:
    base = Values({"a": np.arange(4)}, 4)
    left, right = base.of(np.array([0, 1])), base.of(np.array([2, 3]))
    left["b"] = np.zeros(2)
    assert not joined([left, right], None, always).has("b")
    alone = joined([left], None, always)
    assert alone.has("b") and alone.has("a") and alone.threads == 2


def test_results_of_constants_and_threads_are_those_of_each_execution() -> None:
    """A program whose ops are watched computes everything each time; the other one computes such results once."""
    function = kernel("""
      br to=^loop(%c0)
    ^loop(%k: i32):
      %lanes = mul a=%lane, b=%c3
      %mine = add a=%lanes, b=%block
      %odd = and a=%tid, b=%c1
      %is_odd = cmp predicate="eq", a=%odd, b=%c1
      cond_br cond=%is_odd, then=^more(), other=^meet(%mine)
    ^more:
      %twice = add a=%mine, b=%mine
      br to=^meet(%twice)
    ^meet(%x: i32):
      %last = mul a=%x, b=%k
      tensor.store t=%out, coord=(%i), a=%last
      %next = add a=%k, b=%c1
      %again = cmp predicate="lt", a=%next, b=%c3
      cond_br cond=%again, then=^loop(%next), other=^out
    ^out:
      ret
    """)
    for seed in range(4):
        once, each_time = (np.full(4096, -1, np.int32) for _ in range(2))
        ops = [
            sim.run(program, 3, [out], seed=seed).ops
            for program, out in ((function, once), (Program(function, lambda op, lanes: None), each_time))
        ]
        np.testing.assert_array_equal(once, each_time)
        assert ops[0] == ops[1]
    i = np.arange(3 * 64)
    mine = i % 32 * 3 + i // 64
    np.testing.assert_array_equal(once[: len(i)], 2 * np.where(i % 2, 2 * mine, mine))
