# ruff: noqa
# mypy: ignore-errors
"""Calls that are taken back where they come to nothing: what they emitted, branched to, changed and computed."""

import pytest

from cutelite.diag import CompileError
from cutelite.ir.types import i32
from cutelite.lang.attempt import attempt
from cutelite.lang.places import places
from tests.front.differential import array, compiled, run


def names(function):
    return [op.name for block in function.blocks for op in block.ops]


def messy(a, wanted):
    """Everything that leaves a trace: prints, branches, loops, an early return."""
    print(f"a = {a}")
    if a > 3:
        return wanted
    total = 0
    for i in range(a):
        total = total + i * i
    while total > 100:
        total = total - a
    print(f"total = {total}")
    return None if wanted is None else total


def test_what_comes_to_nothing_leaves_no_op_and_no_block():
    def plain(out, a):
        out[0] = a * 2

    def tried(out, a):
        if attempt(lambda: messy(a, None)) is None:
            out[0] = a * 2

    assert names(compiled(tried, out=array(i32, 4), a=i32)) == names(compiled(plain, out=array(i32, 4), a=i32))


def test_what_comes_to_something_is_a_call():
    def called(out, a):
        out[0] = messy(a, 7)

    def tried(out, a):
        out[0] = attempt(lambda: messy(a, 7))

    assert names(compiled(tried, out=array(i32, 4), a=i32)) == names(compiled(called, out=array(i32, 4), a=i32))


def test_in_branches_and_loops_the_rest_goes_on():
    def kernel(out, a, b):
        total = 0
        for i in range(b):
            if attempt(lambda: messy(a + i, None)) is None and a > i:
                total = total + attempt(lambda: a * i if attempt(lambda: messy(i, None)) is None else None)
        while total < 50:
            nothing = attempt(lambda: messy(total, None))
            total = total + (3 if nothing is None else nothing)
        out[0] = total

    out = [None] * 4
    run(compiled(kernel, out=array(i32, 4), a=i32, b=i32), [out, 3, 4])
    assert out[0] == 51  # 3 * (0 + 1 + 2), and 14 times 3


def test_changes_of_compile_time_objects_are_taken_back():
    class Counter:
        def __init__(self):
            self.n = 0

    def grown(xs, counter, wanted):
        xs.append(5)
        counter.n = counter.n + 1
        return wanted

    def kernel(out, a):
        xs, counter = [1], Counter()
        attempt(lambda: grown(xs, counter, None))
        out[0] = len(xs) * 10 + counter.n  # 10
        attempt(lambda: grown(xs, counter, 1))
        out[1] = len(xs) * 10 + counter.n  # 21

    out = [None] * 4
    run(compiled(kernel, out=array(i32, 4), a=i32), [out, 1])
    assert out[:2] == [10, 21]


def test_an_error_within_is_the_users():
    def kernel(out, a):
        attempt(lambda: a.nothing)

    with pytest.raises(CompileError, match="nothing"):
        compiled(kernel, out=array(i32, 4), a=i32)


def test_vectors_that_were_first_computed_within_are_computed_again():
    def kernel(out, a):
        place = places(a, (0, 5), (2,))
        attempt(lambda: [place[0]].clear())
        out[0] = place[0] + place[1]

    out = [None] * 4
    run(compiled(kernel, out=array(i32, 4), a=i32), [out, 3])
    assert out[0] == 11
