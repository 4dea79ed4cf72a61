# ruff: noqa
# mypy: ignore-errors
"""The evaluator itself: what it repeats, what it forgets, and what it refuses."""

from tests.threads import at_once
import sys
import threading

import numpy as np
import pytest

from cutelite import sim
from cutelite.diag import CompileError
from cutelite.front import build, frame
from cutelite.front.instructions import EFFECTS
from cutelite.front.state import new_share, split, together
from cutelite.ir.types import f32, i32
from tests.front.differential import array, compiled, kernel_of, pairs


def test_every_instruction_has_a_handler():
    assert set(frame.HANDLERS) == set(EFFECTS)


def test_shares_add_up():
    for parts in (1, 2, 7):
        whole = new_share()
        shares = split(whole, parts)
        assert together(shares) == whole
        assert len({*shares, whole}) == (parts + 1 if parts > 1 else 1)
        assert together(shares[1:]) != whole or parts == 1


def blocks_run(function, monkeypatch, **args):
    """How many blocks are executed to evaluate a kernel."""
    count = 0
    run_block = frame.Frame.run_block

    def counting(self, block, state):
        nonlocal count
        count += 1
        run_block(self, block, state)

    with monkeypatch.context() as patch:
        patch.setattr(frame.Frame, "run_block", counting)
        compiled(function, **args)
    return count


def unrolled(times):
    def kernel(out, a):
        s = 0
        for k in range_(times):
            if a > k:
                s = s + k
            if s > 100:
                break
        out[0] = s

    range_ = range
    kernel.__globals__["range_"] = lambda n: tuple(range(n))
    return kernel


def test_evaluation_is_linear_in_the_unrolled_body(monkeypatch):
    small = blocks_run(unrolled(10), monkeypatch, out=array(i32, 1), a=i32)
    large = blocks_run(unrolled(100), monkeypatch, out=array(i32, 1), a=i32)
    assert large <= 11 * small


def nested(depth):
    """Loops in loops, each of which carries a variable of its own and changes that of the others."""
    lines = ["def kernel(out, n):", "    x0 = 0"]
    for level in range(depth):
        indent = "    " * (level + 1)
        lines += [
            f"{indent}x{level + 1} = x{level}",
            f"{indent}for i{level} in range(n):",
            f"{indent}    x0 = x0 + i{level}",
        ]
    lines += ["    " * (depth + 1) + f"x{depth} = x{depth} + x0", "    out[0] = x0"]
    space = {}
    exec("\n".join(lines), space)
    return space["kernel"]


def test_nested_loops_are_evaluated_a_number_of_times_that_grows_slowly(monkeypatch):
    counts = [blocks_run(nested(depth), monkeypatch, out=array(i32, 1), n=i32) for depth in (1, 2, 4, 8)]
    assert counts[3] < 150
    assert counts[3] < 4 * counts[2]


def test_kernels_are_built_in_threads_at_once():
    limit = sys.getrecursionlimit()

    def deep(n):
        return 0 if n == 0 else 1 + deep(n - 1)

    def kernel(out, a):
        s = 0
        for i in range(a):
            s += i + deep(200)
        out[0] = s

    texts = at_once(lambda _: str(compiled(kernel, out=array(i32, 1), a=i32)), range(8))
    assert len(set(texts)) == 1
    assert sys.getrecursionlimit() == limit


def collatz(a, b):
    n, steps = abs(a) % 50 + 1, 0
    while n != 1:
        if steps > 60:
            return -1, n
        n = n // 2 if n % 2 == 0 else 3 * n + 1
        steps += 1
        for k in range(b):
            if k == n:
                break
        else:
            continue
        steps += 100
    return steps, n


def search(a, b):
    for i in range(a, a + 6):
        for j in range(b, b - 5, -2):
            if (i * j) % 7 == 3:
                return i, j
            if i + j > 9:
                break
    return -99, 0


@pytest.mark.parametrize("function", [collatz, search])
def test_threads_that_part_and_meet_again(function):
    """In the simulator, where each thread takes its own way."""
    inputs = pairs(-3, -1, 0, 1, 2, 7, 9, 13)
    width = len(inputs)

    def kernel(out, first, second):
        t = thread_idx.x
        x, y = function(first[t], second[t])
        out[t, 0] = x
        out[t, 1] = y

    from cutelite.lang.index import thread_idx

    types = {"out": array(i32, width, 2), "first": array(i32, width), "second": array(i32, width)}
    made = build.build(kernel, types, {}, {"block": (width, 1, 1)})
    a, b = (np.array(column, np.int32) for column in zip(*inputs, strict=True))
    for seed in range(3):
        out = np.full((width, 2), -5, np.int32)
        sim.run(made, 1, [out, a, b], dims={}, seed=seed)
        assert [tuple(row) for row in out.tolist()] == [function(*given) for given in inputs]


def test_blocks_that_nobody_reaches_are_dropped():
    def waits(out, a):
        n = a
        while True:
            n = n + 1
            if n == a:
                break
        out[0] = n

    assert all(block.terminator is not None for block in compiled(waits, out=array(i32, 1), a=i32).blocks)
