# ruff: noqa
# mypy: ignore-errors
# (the functions to be compiled are odd on purpose)
"""Calls of all kinds: nested functions, closures, methods, recursion, arguments by position, name, star and default."""

import functools
import inspect
import itertools
import operator
import random
import time
from contextlib import suppress

import numpy as np
import pytest

import cutelite as cl
from cutelite.diag import CompileError
from cutelite.front.calls import SPECIAL
from cutelite.ir.types import i32
from tests.front.differential import array, compiled, pairs, same, singles

SCALE = 10


def helper(x, y=2, *rest, z=3, **named):
    total = x * SCALE + y + z
    for r in rest:
        total = total * 2 + r
    for name, value in named.items():
        total += len(name) * value
    return total


def only_positional(a, b, /, c, *, d=4):
    return a * 1000 + b * 100 + c * 10 + d


def clamp(x, low, high):
    if x < low:
        return low
    if x > high:
        return high
    return x


def factorial(n):
    return 1 if n <= 1 else n * factorial(n - 1)


def tree_sum(xs):
    if len(xs) == 1:
        return xs[0]
    half = len(xs) // 2
    return tree_sum(xs[:half]) + tree_sum(xs[half:])


def test_arguments():
    def f(a, b):
        extra = (a, b)
        named = {"z": b, "w": 5}
        return (
            helper(a), helper(a, b), helper(a, b, 7, 8), helper(a, z=b), helper(y=a, x=b), helper(*extra),
            helper(*extra, *extra, **named), helper(a, **named), only_positional(a, 2, b), only_positional(1, b, c=a, d=b),
        )  # fmt: skip

    same(f, *pairs(0, 1, 5))


def test_several_returns_of_an_inlined_function():
    def f(a, b):
        return clamp(a, 0, 3) * 100 + clamp(b, -1, clamp(a, 1, 2))

    same(f, *pairs())


def test_compile_time_recursion():
    def f(a):
        return factorial(5) + a, tree_sum((a, 2, a * 3, 4, 5))

    same(f, *singles())


def test_nested_functions_and_lambdas():
    def f(a, b):
        def inner(x, k=b):
            return x * k + a

        g = lambda x: inner(x) - 1
        return inner(2), g(3), (lambda: a)(), (lambda x, *y: x + len(y))(1, 2, 3), inner(k=1, x=b)

    same(f, *pairs())


def test_closures_see_the_variable_and_not_its_value():
    def f(a, b):
        x = a
        get = lambda: x
        before = get()
        x = b
        if a > b:
            x = 7
        middle = get()
        for i in range(3):
            x = x + i
        return before, middle, get()

    same(f, *pairs())


def test_closures_in_a_loop_share_its_variable():
    def f(a):
        fs = [lambda: i + a for i in (1, 2, 3)]
        gs = [lambda i=i: i + a for i in (1, 2, 3)]
        return [g() for g in fs], [g() for g in gs]

    same(f, *singles())


def test_comprehensions_have_cells_of_their_own_each_time():
    def f(a):
        made = []
        for k in (10, 20):
            made.append([lambda: j + k + a for j in (1, 2)][0])
        return [g() for g in made]

    same(f, *singles())


def test_functions_that_return_functions():
    def adder(n):
        def add(x):
            return x + n

        return add

    def counter(n):
        if n > 2:
            k = 5
        else:
            k = n
        get = lambda: k
        if n > 100:
            k = 6
            return get
        k = k + 1
        return get

    def compose(f, g):
        return lambda x: f(g(x))

    def f(a, b):
        add_a, add_3 = adder(a), adder(3)
        both = compose(add_a, add_3)
        return add_a(b), add_3(b), both(b), counter(a)(), compose(counter, adder(1))(b)()

    same(f, *pairs())


def test_recursive_nested_function():
    def f(a):
        def power(n):
            return 1 if n == 0 else a * power(n - 1)

        return power(3)

    same(f, *singles())


def test_partial_reduce_map_filter_sorted():
    def f(a, b):
        add = lambda x, y: x * 2 + y
        return (
            functools.partial(helper, b, z=1)(a),
            functools.reduce(add, (a, b, 3)),
            functools.reduce(add, [a], b),
            list(map(lambda x: x + a, (1, 2))),
            list(map(clamp, (a, b), (0, 0), (1, 5))),
            list(filter(lambda k: k % 2, (1, 2, 3))),
            sorted((3, 1, 2), key=lambda k: -k),
            max((1, -5, 3), key=abs),
            list(itertools.accumulate((a, b, 1), add)),
            sum(map(operator.mul, (a, b), (1, 2))),
            list(itertools.starmap(add, ((a, 1), (b, 2)))),
            [(k, sum(x for _, x in g)) for k, g in itertools.groupby(((1, a), (1, b), (2, 3)), lambda pair: pair[0])],
            [len(list(g)) for _, g in itertools.groupby("aabccc")],
        )

    same(f, *pairs(-1, 0, 2))


class Scale:
    def __init__(self, by):
        self.by = by

    def of(self, x):
        return x * self.by if x > 0 else -x

    def __call__(self, x):
        return self.of(x) + 1


def test_functions_of_all_kinds_are_given_to_functions_of_python():
    def f(a, b):
        s = Scale(3)
        return (
            functools.reduce(max, (a, b, 3)), functools.reduce(min, (a, b)), list(map(abs, (a, b))),
            list(map(int, (a, True))), list(map(bool, (a, b))), list(map(divmod, (a, b), (3, -2))),
            list(itertools.accumulate((a, b, 2), max)), list(itertools.starmap(max, ((a, b), (b, 1)))),
            list(map(s.of, (a, b))), list(map(s, (a, b))), [x.of(a) for x in map(Scale, (1, 2))],
            list(map(functools.partial(divmod, a), (3, 4))), sorted((3, 1, 2), key=s.of),
        )  # fmt: skip

    same(f, *pairs(-1, 0, 2))


def test_replaced_builtins_have_pythons_parameters():
    """Those that Python takes by name too."""
    for builtin, own in SPECIAL.items():
        with suppress(ValueError):  # of those without a signature
            theirs, ours = ([*inspect.signature(each).parameters.values()] for each in (builtin, own))
            named = {p.name for p in theirs if p.kind in (p.POSITIONAL_OR_KEYWORD, p.KEYWORD_ONLY)}
            anything = any(p.kind == p.VAR_KEYWORD for p in ours)
            left_out = {"_nil", *(("file", "flush") if builtin is print else ())}
            assert anything or named - left_out <= {p.name for p in ours}, builtin

    def f(a):
        return pow(base=a, exp=2), int("ff", base=16), int("11", 2), round(2.56, ndigits=1) > 2.5

    same(f, *singles())


def test_functions_made_in_kernels_have_attributes():
    def doubled(function):
        @functools.wraps(function)
        def wrapper(*args):
            return function(*args) * 2

        wrapper.by = 2
        return wrapper

    def f(a, b):
        @doubled
        def plus(x):
            return x + b

        plus.calls = 3
        return plus(a), plus.by, plus.calls, plus.__name__ == "plus"

    same(f, *pairs())


def test_named_arguments_are_a_dict_of_the_functions_own():
    def f(a, b):
        def g(**options):
            by = options.pop("by", 1)
            options["more"] = a
            return by * b + options["more"]

        return g(by=a), g()

    same(f, *pairs())


def test_generator_expressions():
    def f(a, b):
        squares = (k * k + a for k in (1, 2, 3) if k != 2)
        return (
            sum(squares), max(k * b for k in range(4)), list(x + y for x in (a, b) for y in (1, 2)),
            any(k == a for k in range(5)), next(k for k in (1, 2, 3) if k > 1), next((k for k in ()), 9),
            dict((k, a) for k in "xy"), tuple(i for i in range(3)),
        )  # fmt: skip

    same(f, *pairs())


def test_methods_of_compile_time_objects():
    class Config:
        factor = 3

        def __init__(self, n):
            self.n = n

        def scaled(self, x):
            return x * self.factor + self.n if x > 0 else -self.n

        @classmethod
        def make(cls, n):
            return cls(n + 1)

        @staticmethod
        def twice(x):
            return 2 * x

        @property
        def size(self):
            return self.n * 2 if self.n > 1 else 0

        def __call__(self, x):
            return self.scaled(x) if x != 2 else 0

        def __len__(self):
            return self.n

    config = Config(4)

    def f(a):
        made = Config.make(1)
        method = config.scaled
        return (
            config.scaled(a),
            Config.twice(a),
            config.size + a,
            config(a),
            made.scaled(a),
            method(a),
            len(config),
            made(a),
        )

    same(f, *singles())


def test_inheritance_and_super():
    class Base:
        def value(self, x):
            return x + 1 if x > 0 else 0

    class Derived(Base):
        def value(self, x):
            return super().value(x) * 10

    thing = Derived()

    def f(a):
        return thing.value(a), Base.value(thing, a), isinstance(thing, Base)

    same(f, *singles())


def test_decorated_and_cached_functions():
    calls = []

    @functools.cache
    def table(n):
        try:
            calls.append(n)
            return tuple(i * i for i in range(n))
        finally:
            pass

    def doubled(function):
        @functools.wraps(function)
        def wrapper(*args):
            return function(*args) * 2

        return wrapper

    @doubled
    def plus(x, y):
        return x + y

    class Tables:
        @functools.cache
        def row(self, n):
            calls.append(-n)
            return n * 2

    tables = Tables()

    def f(a):
        return table(4)[2] + a, plus(a, 1), tables.row(5) + tables.row(5)

    same(f, *singles())
    assert calls == [4, -5] * (len(calls) // 2)  # once in each evaluation


def test_exec_without_a_file():
    space = {}
    exec("def f(a):\n    s = 0\n    for i in range(a):\n        s += i\n    return s\n", space)
    same(space["f"], *singles())


def test_kernels_call_kernels():
    class Kernel:
        """What matters of `cutelite.Kernel` to a kernel that calls it."""

        def __init__(self, function):
            self.__cutelite_function__ = function

        def __call__(self, *args):
            raise TypeError("launch it")

    def store(out, x):
        if x > 0:
            out[0] = x
            return
        out[0] = -1

    inner = Kernel(store)

    def kernel(out, a):
        inner(out, a)

    made = compiled(kernel, out=array(i32, 1), a=i32)
    assert sum(op.name == "tensor.store" for op in made.ops()) == 2


def cached_identity(x):
    return x


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("clamp(a)", "clamp() lacks the arguments `low`, `high`"),
        ("clamp(a, 1, 2, 3)", "clamp() takes 3 arguments, but 4 were given"),
        ("clamp(a, 1, x=a)", "clamp() got two values for `x`"),
        ("only_positional(a=a, b=2, c=3)", "takes `a` by position only"),
        ("helper(a, **{'z': 1}, **{'z': 2})", "the argument `z` is given twice"),
        ("functools.cache(lambda: cl.thread_idx.x)()", "cl.thread_idx works only inside a kernel"),
        ("functools.cache(cached_identity)(a)", "is cached, and takes compile-time values only"),
        ("clmap(a, 1, 2)", "did you mean `clamp`?"),
        ("functools.reduec(clamp, ())", "did you mean `reduce`?"),
        ("(lambda: undefined_name)()", "the name `undefined_name` is not defined"),
        ("eval('a')", "`eval()` cannot be used in a kernel"),
        ("time.perf_counter()", "`perf_counter()` cannot be used in a kernel"),
        ("random.randrange(9)", "`random.randrange()` cannot be used in a kernel"),
        ("np.random.rand()", "`numpy.random.rand()` cannot be used in a kernel"),
        ("next(iter(()))", "next() of an iterator that yields nothing"),
        ("[k for k in (1, 2) if a > k]", "a comprehension would change a compile-time list under a run-time condition"),
    ],
)
def test_mistakes(text, message):
    space = dict(globals())
    exec(f"def kernel(out, a):\n    out[0] = {text}\n", space)
    with pytest.raises(CompileError) as caught:
        compiled(space["kernel"], out=array(i32, 4), a=i32)
    assert message in str(caught.value)


def test_compile_time_recursion_may_be_deep():
    def depth(n):
        return 0 if n == 0 else 1 + depth(n - 1)

    def f(a):
        return depth(300) + a

    same(f, (1,))
