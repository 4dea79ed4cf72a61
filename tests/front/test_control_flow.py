# ruff: noqa
# mypy: ignore-errors
# (the functions to be compiled are odd on purpose)
"""Branches and loops under run-time and compile-time conditions mean what they mean in Python.

PYTEST_DONT_REWRITE: the assertions in here are compiled.
"""

import itertools
import sys

import numpy as np
import pytest

import cutelite as cl
from cutelite.diag import CompileError
from cutelite.ir.types import i64

from tests.front.differential import array, compiled, i32, pairs, run, same, singles


def test_ranges_of_more_numbers_than_a_length_holds():
    def f(a):
        count = 0
        for i in range(-(2**63), 2**63 - 1):
            if i + 2**62 > a - 2**62:
                break
            count += 1
        return count

    same(f, (0,), (5,), dtype=i64)

    def kernel(a, out):
        for i in cl.range(2**70, unroll=4):
            out[0] = a

    def kernel_one(a, out):
        for i in range(2**70):
            out[0] = a

    for one in kernel, kernel_one:
        with pytest.raises(CompileError, match="the literal 1180591620717411303424 does not fit i64"):
            compiled(one, a=i32, out=array(i32, 1))


def test_nested_ifs_with_values_of_the_outer_scope():
    def f(a, b):
        r = 10
        if a > 0:
            if b > 0:
                r = r + a
            s = r * 2
        else:
            s = b
            if a == b:
                r = 0
        return r, s

    same(f, *pairs())


def test_name_bound_first_in_both_branches():
    def f(a, b):
        if a > b:
            big, small = a, b
        else:
            big, small = b, a
        return big * 10 + small

    same(f, *pairs())


def test_short_circuit_values():
    def f(a, b):
        return a and b, a or b, (a or b) and 5, not a, not (a and b), a and 0, 0 or b, (a and b) or (b and 7)

    same(f, *pairs())


def test_not_not_is_a_bool():
    """CPython 3.13 makes one test of the truth of it, or makes it a part of the comparison before."""

    class Less:
        def __init__(self, x):
            self.x = x

        def __lt__(self, other):
            return self.x

    def f(a, b):
        n = 0
        while not not n < 3:
            n += not not a
        return (not not a) * 5, (not not b) and b, not not Less(a) < Less(b), n, [not not x for x in (a, 7)]

    same(f, *pairs(1, 2, 9))


def test_short_circuit_of_truths_and_numbers():
    def f(a, b):
        first = ((a > b) and 2) or 3
        second = ((a > 0 and b > 0) and a * b) or (a < b and b) or -7
        third = ((a == b or b > 3) and (a or 5)) or b
        return first, second, (1 if third else 2)

    same(f, *pairs())


def test_alternatives_of_an_expression_are_promoted():
    @cl.kernel
    def chosen(
        x: cl.Tensor[cl.i32, (8,)],
        y: cl.Tensor[cl.f32, (8,)],
        z: cl.Tensor[cl.i64, (8,)],
        out: cl.Tensor[cl.f64, (5, 8)],
    ) -> None:
        i = cl.thread_idx.x
        a, b, c = x[i], y[i], z[i]
        found = (a if a < b else b, a and c, a or b, (lambda: c if a > 3 else 0.5 if a else a)(), a > 3 and b)
        for row, value in enumerate(found):
            out[row, i] = cl.f64(value)

    x, y, z = np.arange(8, dtype=np.int32), np.full(8, 3.5, np.float32), np.arange(8) + 2**20
    out = np.zeros((5, 8))
    chosen[1, 8](x, y, z, out)
    a, b, c = x, y, z
    want = [np.where(a < b, a, b), np.where(a, c, a), np.where(a, a, b), np.where(a > 3, c, np.where(a, 0.5, a))]
    np.testing.assert_array_equal(out, [*want, np.where(a > 3, b, 0)])

    @cl.kernel
    def mixed(x: cl.Tensor[cl.i64, (8,)], y: cl.Tensor[cl.u64, (8,)]) -> None:
        x[0] = x[1] if x[1] > 0 else y[1]

    with pytest.raises(CompileError, match="another type on another path"):
        mixed.compile(block=8)


def test_short_circuit_of_a_truth_and_floats():
    @cl.kernel
    def chosen(p: cl.Tensor[cl.i32, (4,)], out: cl.Tensor[cl.f32, (4,)]) -> None:
        i = cl.thread_idx.x
        out[i] = (p[i] > 1 and 2.0) or 3.0

    out = np.zeros(4, np.float32)
    chosen[1, 4](np.arange(4, dtype=np.int32), out)
    assert out.tolist() == [3, 3, 2, 2]


def test_short_circuit_does_not_evaluate():
    def f(a, b):
        safe = b != 0 and a % (b if b else 1) == 0
        n = 0
        if (a > 0 and (n := a) > 1) or (n := -5) > 0:
            return n, safe
        return n + 1000, safe

    same(f, *pairs())


def test_chained_comparisons():
    def f(a, b):
        return 0 <= a < b, a < b < 5, a == b == 1, -1 <= a <= b <= 7, a < b > 0 != a

    same(f, *pairs())


def test_chained_comparison_evaluates_the_middle_once():
    def f(a, b):
        n = 0
        r = -1 < (n := n + a) < b
        return n, r

    same(f, *pairs())


def test_else_of_a_loop_that_never_breaks():
    def f(a):
        n = 0
        for i in range(a):
            n += i
        else:
            n = -n
        return n

    same(f, *singles())


def test_nested_loops_with_break_continue_and_return():
    def f(a, b):
        s = 0
        for i in range(a):
            for j in range(i, b):
                if j == 5:
                    return s
                if (i + j) % 3 == 0:
                    continue
                k = 0
                while k < j:
                    k += 1
                    if k == 4:
                        break
                    s += k
                else:
                    s += 100
                if s > 300:
                    break
            else:
                s += 7
            if s > 500:
                break
        return s * 2

    same(f, *pairs(-1, 0, 1, 3, 6), masks=True)


def test_three_deep_with_carried_values():
    def f(a, b):
        x, y, z = 1, 0, 0
        for i in range(a):
            for j in range(b):
                y = y + x
                for k in range(2):
                    z = z + y - k
                x = (x + j) % 7
            z = z % 1001
        return x, y, z

    same(f, *pairs(0, 1, 2, 4))


RANGES = [(0, 5, 1), (5, 0, 1), (0, 10, 3), (10, 0, -3), (0, 10, -1), (-5, 6, 2), (3, 3, 1), (7, -8, -5), (1, 2, 100)]


def test_range_with_run_time_steps():
    def f(start, stop, step):
        n, s = 0, 0
        for i in range(start, stop, step):
            n += 1
            s = s * 3 + i
        return n, s

    same(f, *RANGES)


EXTREMES = [
    (-(2**31), 2**31 - 1, 2**30),
    (2**31 - 1, -(2**31), -(2**30)),
    (2**31 - 10, 2**31 - 1, 4),
    (-(2**31) + 5, -(2**31), -2),
    (-(2**31), 2**31 - 1, 2**31 - 1),
    (2**31 - 1, -(2**31), -(2**31)),
    (2**31 - 1, 2**31 - 1, 1),
    (2**31 - 3, 2**31 - 1, 1),
    (-(2**31) + 2, -(2**31), -1),
]


def test_ranges_are_sequences():
    def sequences(a, b):
        known = range(2, 10, 3)
        ends = range(a, a + 5)[-1], range(b, b - 4, -2)[-2], known[-1]
        same = known == range(2, 9, 3), range(0) == range(3, 3), range(3) != range(3), known == [2, 5, 8]
        return *ends, *(1 if each else 0 for each in same), known.index(5), known.count(8), known.count(9)

    same(sequences, *pairs(0, -3, 7))


def test_range_at_the_limits_of_i32():
    def f(start, stop, step):
        n, last = 0, 0
        for i in range(start, stop, step):
            n += 1
            last = i
        return n, last

    same(f, *EXTREMES, dtype=i32)


def test_range_counts_in_the_wider_type():
    from cutelite.front.build import build
    from cutelite.ir.types import i64, u32

    def kernel(out, a, b):
        n = 0
        for i in range(a, b, 1 << 31):
            n += 1
        out[0] = i64(n)

    made = build(kernel, {"out": array(i64, 4), "a": i32, "b": i64}, {}, {})
    out = [None] * 4
    run(made, [out, -5, 2**33])
    assert out[0] == len(range(-5, 2**33, 1 << 31))

    def down(out, a):
        n, last = 0, 0
        for i in range(a, -1, -1):
            n, last = n + 1, i
        out[0], out[1] = i64(n), i64(last)

    made = build(down, {"out": array(i64, 4), "a": u32}, {}, {})
    run(made, [out, 3])
    assert out[:2] == [4, 0]


def test_loop_variable_after_the_loop():
    def f(a):
        i = -1
        for i in range(a):
            if i == 4:
                break
        return i

    same(f, *singles())


def test_names_bound_in_a_loop_that_is_certain_to_run():
    def f(a, b):
        for i in range(4):
            last = i * a
        for j in range(9, 2, -3):
            for k in range(1, 3):
                deep = (j + k, b, "text")
                if a > k:
                    continue
                flag = deep[0] > b
            flag = k == 2
            if j < b:
                break
            before = last
            last = before + j
        for n in range(3):
            known, made = 5, lambda x: x + a
        else:
            known += n
        return i, last, j, k, deep[0], deep[1], flag, n, known, made(b)

    same(f, *pairs())


def test_names_bound_in_a_loop_to_what_an_iteration_finds():
    def before(a, b):
        x = 0
        for _ in range(20):
            last, pair = x, (x, [x > a])
            x = x + b
            if x > 50:
                x -= 50
        return x, last, pair

    def functions(a, b):
        x, y = 0, 1
        for _ in range(12):
            for i in range(9, 12):
                inner = y
                y = (y + x * i) % 11
            add = lambda n: n + x + inner  # noqa: E731, B023
            x = (x + a) % 7
        return x, y, inner, add(b)

    def never_again(a, b):
        x = 0
        for i in range(30):
            for j in range(2, 20):
                kept = x
                x = a
                if 5 > 3:
                    break
            a += 1
            if b > 2:
                continue
            b += kept
        return x, i, j, kept

    for function in (before, functions, never_again):
        same(function, (1, 2), (-3, 2), (7, 30))


def test_names_bound_under_a_condition_in_a_loop_are_not_bound_behind_it():
    for body in ("if a > i: v = i", "if a > i: continue\n        v = i", "if a > i: break\n        v = i"):
        space = {}
        exec(f"def kernel(out, a):\n    for i in range(4):\n        {body}\n    out[0] = v\n", space)
        with pytest.raises(CompileError, match="`v` is not bound if the loop does not get so far"):
            compiled(space["kernel"], out=array(i32, 1), a=i32)


def test_next_moves_an_iterator_on():
    def f(a, b):
        it = iter((a, b, a + b, 7))
        first, second = next(it), next(it)
        rest = [x * 2 for x in it]
        pairs = zip((1, 2, 3), (a, b, a))
        x, y = next(pairs)
        for u, v in pairs:
            x, y = x + u, y * v
        gen = (x * i for i in (1, 2, 3) if i != 2)
        total = 0
        while (item := next(gen, None)) is not None:
            total += item
        return first, second, rest, x, y, total, next(iter([]), 5), next(reversed((a, b)))

    same(f, *pairs())


def test_iterators_that_are_drawn_from_in_turn_and_ones_without_end():
    def f(a, b):
        it = iter((a, b, 3, a + b, 7))
        head = list(itertools.islice(it, 2))
        paired = [x * y for x, y in zip(*[it] * 2)]
        one, other = itertools.tee((a, b))
        ids, odd = itertools.count(a, b), itertools.count(1, 2)
        numbered = [x * y for x, y in zip(odd, (a, b))]
        turns = [x * y for x, y in zip(itertools.cycle((a, 2)), (1, b, 3))]
        squares = list(map(pow, (a, b), itertools.repeat(2)))
        repeated = sum(itertools.repeat(a, 3))
        taken = head, paired, next(it, 0), sum(one), sum(other)
        return taken, next(ids), next(ids), next(odd), numbered, turns, squares, repeated

    same(f, *pairs())


@pytest.mark.parametrize(
    ("body", "said"),
    [
        ("t = sum(itertools.count())", "has not ended after 100000 items"),
        ("for i in itertools.cycle((1, 2)): out[0] = i", "has not ended after 100000 items"),
        ("a, b = itertools.repeat(1)", "has not ended after 100000 items"),
        ("t = list(zip(itertools.count(), itertools.count()))", "has not ended after 100000 items"),
        ("for i in cl.static_range(10**9): out[0] = i", "100000"),
        ("x = list(range(10**18))", "100000"),
        ("x = sum(range(10**9))", "100000"),
        ("x = [i for i in range(10**9)]", "100000"),
        ("for i, j in enumerate(range(10**9)): out[0] = i", "100000"),
    ],
)
def test_what_does_not_end_soon_is_refused_at_once(body, said):
    space = {"cl": cl, "itertools": itertools}
    exec(f"def kernel(out):\n    {body}\n", space)
    with pytest.raises(CompileError, match=said):
        compiled(space["kernel"], out=array(i32, 1))


@pytest.mark.parametrize("loop", ["while n < 51: n += 1", "for n in cl.static_range(51): pass"])
def test_loops_of_too_many_known_iterations_are_not_called_endless(loop, monkeypatch):
    for module in ("trial", "unrolled"):
        monkeypatch.setattr(sys.modules[f"cutelite.front.loops.{module}"], "UNROLL_LIMIT", 50)
    space = {"cl": cl}
    exec(f"def kernel(out):\n    n = 0\n    {loop}\n    out[0] = n\n", space)
    with pytest.raises(CompileError, match="this loop is unrolled, and has more than 50 iterations"):
        compiled(space["kernel"], out=array(i32, 1))


def test_equal_functions_of_two_files_are_told_apart():
    """Python finds their code equal."""
    found = []
    for name in ("one.py", "other.py"):
        space = {}
        exec(compile("def kernel(out):\n    out[0] = missing\n", name, "exec"), space)
        with pytest.raises(CompileError) as caught:
            compiled(space["kernel"], out=array(i32, 1))
        found.append(caught.value.span.filename)
    assert found == ["one.py", "other.py"]


def test_loop_variable_assigned_in_the_body():
    def f(a):
        s = 0
        for i in range(a):
            i = i * 2
            s += i
        return s

    same(f, *singles())


def test_unrolled_loop_with_run_time_break_and_continue():
    def f(a, b):
        s = 0
        for k in (5, 3, 8, 1):
            if k == a:
                continue
            s = s * 10 + k
            if s > b:
                break
        else:
            s = -s
        return s

    same(f, *pairs(1, 3, 5, 8, 60, 1000))


def test_return_from_an_unrolled_loop():
    def f(a):
        for k, v in ((1, 10), (2, 20), (7, 70)):
            if a == k:
                return v
        return -a

    same(f, *singles())


class Raised:
    def __init__(self, by):
        self.by = by

    def __enter__(self):
        return self.by

    def __exit__(self, *_):
        pass


def test_ways_out_of_an_unrolled_loop_know_their_iteration():
    def applied(x):
        for name, f in (("once", lambda y: y + 1), ("twice", lambda y: y * 2), ("wide", lambda y: (y, y))):
            if x > 2:
                for _ in range(2):
                    x = x + 1
                return f(x) if name != "wide" else f(x)[0]
            x = x + 2
        return 0

    def function(a, b):
        found = 0
        for f, less in ((lambda y: y + 7, (1,)), (lambda y: y * 3, (1, 2))):
            with Raised(len(less)) as by:
                b = b + by
                if b > 3:
                    found = f(b)
                    if b == 4:
                        found = found - len(less)
                    break
        else:
            return applied(b), 1
        return applied(a), found

    def nested(a, b):
        for f, q in ((lambda y: y + 7, 1), (lambda y: y * 3, 2)):
            with Raised(q) as by:
                if a > by + 1:
                    return f(a)
                for g, r in ((f, 0), (lambda y: y - 1, 3)):
                    with Raised(r) as more:
                        if b > more + by:
                            return g(b) * 10 + by
                a = a + 2
        return 0

    same(function, *pairs(0, 2, 4))
    same(nested, *pairs(0, 2, 4), masks=False)


def test_compile_time_while_is_unrolled():
    def kernel(out):
        i = 0
        while i < 4:
            out[i] = i * i
            i += 1

    assert len(compiled(kernel, out=array(i32, 4)).blocks) == 1


def test_while_that_becomes_run_time_on_the_way():
    def f(a):
        n, state = 0, 0
        while True:
            n += 1
            if state == 0:
                state = 1
                continue
            if state == 1:
                state = a * a + 3
                continue
            if n > 5 or state == 2:
                return n
            state = state % 3

    same(f, *singles())


def test_while_that_changes_a_list_before_it_becomes_run_time():
    def f(a):
        xs = []
        i = 0
        while True:
            if i < 3:
                xs.append(i)
                i += 1
                continue
            if a > i:
                break
            a += 1
        return xs, a

    same(f, *singles())


def test_match_on_structures():
    def f(a, b):
        out = 0
        for shape in (("sum", a, b), ("one", a), {"kind": "dict", "x": b}, [a, b, 1, 2], 7):
            match shape:
                case ("sum", x, y):
                    out += x + y
                case ("one", x) if x > 0:
                    out += 1
                case {"kind": "dict", "x": x}:
                    out = out * 10 + x
                case [first, *rest]:
                    out += len(rest)
                case int(n):
                    out += n
        return out

    same(f, *pairs())


def test_match_true_false_none():
    def f(a, b):
        match a > b:
            case True:
                r = 1
            case False:
                r = 2
        match None:
            case None:
                r += 10
        return r

    same(f, *pairs())


def test_assertions_do_not_change_what_is_computed():
    def f(a):
        assert a > -100, f"a is {a}"
        assert 3 > 2
        return a + 1

    same(f, *singles())


def test_del():
    def f(a):
        x = a + 1
        y = x
        del x
        x = 5
        return x + y

    same(f, *singles())


def test_loop_without_a_way_back():
    def f(a):
        for i in range(a):
            return i + 1
        return 0

    same(f, *singles())


def test_a_value_that_is_the_same_in_every_iteration_stays_known():
    def kernel(out, n):
        size = 4
        for i in range(n):
            size = 8 if size == 2 else 4
        xs = (1, 2, 3, 4, 5)
        out[0] = xs[size]

    compiled(kernel, out=array(i32, 4), n=i32)


@pytest.mark.parametrize("n", [0, 1, 2, 5])
def test_deep_nesting_is_not_exponential(n):
    def f(a):
        s = 0
        while True:
            s += 1
            while True:
                s += 1
                while True:
                    s += 1
                    while True:
                        s += 1
                        if s > a * 3:
                            break
                    if s > a * 2:
                        break
                if s > a:
                    break
            if s > a:
                return s

    same(f, (n,))


def test_a_list_may_grow_while_it_is_iterated_over():
    def f(a, b):
        todo, total = [(0, a)], 0
        for depth, value in todo:
            total = total * 3 + value
            if depth < 2:
                todo.extend([(depth + 1, value + 1), (depth + 1, b)])
        left = [a, b, 1, 2]
        for value in left:
            left.pop() if len(left) > 2 else None
            total = total + value
        for i, value in enumerate(left, 3):
            total = total * 2 + i * value
            if i < 7:
                left.append(value + b)
        behind = iter(left)
        first = next(behind)
        left.append(5)
        return total, len(todo), len(left), first, *behind

    same(f, *pairs())
