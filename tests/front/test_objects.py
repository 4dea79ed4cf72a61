# ruff: noqa
# mypy: ignore-errors
# (the functions to be compiled are odd on purpose)
"""Structures of run-time values through control flow, the user's own operators, and what may be changed."""

import array as array_of_python
import copy
import dataclasses
import enum
import heapq
import inspect
import itertools
import math
import numbers
import operator
import random
import types
from collections import Counter, OrderedDict, UserDict, UserList, defaultdict, deque
from collections.abc import Generator, Iterable, Iterator
from dataclasses import dataclass, field
from fractions import Fraction
from functools import cache, cached_property, cmp_to_key, reduce, singledispatch, singledispatchmethod, total_ordering
from itertools import groupby, islice
from typing import Any, ClassVar, NamedTuple, TypedDict, Union

import numpy as np
import pytest

from cutelite.diag import CompileError
from cutelite.front.build import build
from cutelite.front.types import Constant, Struct
from cutelite.ir.types import boolean, f32, i32
from cutelite.ir.verifier import verify
from cutelite.records import fact
from tests.front.differential import array, compiled, pairs, run, same, singles


class Pair(NamedTuple):
    x: Any
    y: Any = 0

    def swapped(self):
        return Pair(self.y, self.x)

    @property
    def larger(self):
        if self.x > self.y:
            return self.x
        return self.y


@dataclass(frozen=True)
class State:
    stages: int
    index: Any = 0
    phase: Any = 0
    LIMIT: ClassVar[int] = 100

    def advance(self):
        if self.index + 1 == self.stages:
            return dataclasses.replace(self, index=0, phase=self.phase ^ 1)
        return State(self.stages, self.index + 1, self.phase)

    @property
    def code(self):
        return self.index * 10 + self.phase if self.phase else -self.index

    @cached_property
    def twice(self):
        return self.index * 2 if self.index > 1 else 0


@dataclass(frozen=True)
class Complex:
    re: Any
    im: Any

    def __add__(self, other):
        if isinstance(other, Complex):
            return Complex(self.re + other.re, self.im + other.im)
        return Complex(self.re + other, self.im)

    def __radd__(self, other):
        return self + other

    def __mul__(self, other):
        if not isinstance(other, Complex):
            return NotImplemented
        return Complex(self.re * other.re - self.im * other.im, self.re * other.im + self.im * other.re)

    def __rmul__(self, other):
        return Complex(other * self.re, other * self.im)

    def __neg__(self):
        return Complex(-self.re, -self.im) if self.re > 0 else self

    def __getitem__(self, i):
        return self.im if i > 0 else self.re

    def __lt__(self, other):
        return self.re < other.re or (self.re == other.re and self.im < other.im)

    def __bool__(self):
        return self.re != 0

    def __contains__(self, x):
        return x == self.re or x == self.im

    def __abs__(self):
        return self.re if self.re > self.im else self.im

    def __len__(self):
        return 2

    def __int__(self):
        return self.re * 2 if self.re > 0 else 0

    @property
    def size(self):
        return self.re if self.re > 1 else 1

    def __iadd__(self, other):
        return self + 10 * other


@dataclass(frozen=True)
class Derived(Complex):
    extra: Any = 1

    def __radd__(self, other):
        return Complex(100, self.extra)


def test_frozen_dataclass_through_a_run_time_loop():
    def f(a):
        state = State(3)
        for _ in range(a):
            state = state.advance()
        return state.index, state.phase, state.code, state.twice, state.LIMIT

    same(f, *singles(0, 1, 2, 3, 4, 7))


def test_named_tuples_and_nesting():
    def f(a, b):
        p = Pair(a, b)
        held = (p, [p.swapped(), 3], {"k": Pair(1)})
        for i in range(3):
            if p.x > i:
                held = (held[0].swapped(), [held[1][0], held[1][1] + i], {"k": Pair(held[2]["k"].x + 1, i)})
        (x, y), [q, n], named = held
        return x, y, q, n, named["k"], p.larger, p._replace(y=9), p[0], *p

    same(f, *pairs(-1, 0, 1, 5))


def test_structures_meet_in_branches():
    def f(a, b):
        if a > b:
            p, xs = Pair(a, 1), [a, b]
        else:
            p, xs = Pair(0, b), [b, 7]
        s = slice(a, b)
        return p, xs, s.start, s.stop

    same(f, *pairs())


def test_operators_of_the_users_classes():
    def f(a, b):
        c, d = Complex(a, b), Complex(1, a)
        e = c
        e += d
        return (
            [(z.re, z.im) for z in (c + d, c + 1, 2 + c, c * d, 3 * c, -c, e, c + Derived(1, 2, 3), 1 + Derived(a, b))],
            c[a], d[1], c < d, d > c, c == d, c != d, c == Complex(a, b), c != Complex(a, b), a in c, b not in d,
            1 if c else 2, not d, bool(c), sum([c, d], Complex(0, 0)).re, any((c, d)),
            abs(c), len(c), int(d), hasattr(c, "size"), getattr(c, "size"), getattr(c, "other", 3), hasattr(c, "other"),
        )  # fmt: skip

    same(f, *pairs(-1, 0, 1, 2))


class Ranked(NamedTuple):
    rank: Any
    name: Any

    def __eq__(self, other):
        return self.rank == other.rank

    def __lt__(self, other):
        return self.rank > other.rank


class Bag(list):
    def __ge__(self, other):
        return sum(self) >= sum(other)


def test_sequences_compare_as_their_classes_say():
    def f(a, b):
        x, y, s, t = Ranked(a, b), Ranked(b, a), Bag([a, 3]), Bag([b, 2])
        return x == y, x != y, x < y, x > y, x <= y, s >= t, s == t, s < t, x in (y, x), x in (y,)

    class Names(NamedTuple):
        rank: Any

    def g(a, b):
        u = Ranked(a, 1)  # `!=` is that of tuples
        return u == Names(a), Names(a) == Names(b), u != Ranked(a, 2), u != Ranked(a, 1), u != Names(a), Names(1) != u

    same(f, *pairs(0, 1, 2))
    same(g, *pairs(0, 1))


class Held:
    def __init__(self, x):
        self.x = x

    def __eq__(self, other):
        return isinstance(other, Held) and self.x == other.x

    def __divmod__(self, other):
        return (self.x, other) if self.x > 0 else (other, 1)

    def __floor__(self):
        return self.x if self.x > 1 else 7

    def __next__(self):
        self.x += 1
        return self.x if self.x > 0 else -self.x


def test_methods_that_builtins_and_membership_call_are_inlined():
    def f(a, b):
        p, q = Held(a), Held(b)
        return p in (q, 1), q in [3, p], 3 in (p, q), divmod(p, b), math.floor(q), next(p), next(p), p.x

    same(f, *pairs(-1, 0, 2))


def test_objects_are_compared_by_the_operators_of_their_class():
    @total_ordering
    @dataclass(frozen=True)
    class Far:
        x: Any
        name: Any = 0

        def __lt__(self, other):
            return abs(self.x) < abs(other.x)

        def __eq__(self, other):
            return abs(self.x) == abs(other.x)

    def f(a, b):
        p, q = Far(a, 1), Far(b, 2)
        return p <= q, p > q, p >= q, p != q, min(p, q).name, max([p, q, Far(2, 3)]).name, max(p, q).x

    same(f, *pairs())


def test_dataclasses_compare_by_their_fields():
    @dataclass(frozen=True, order=True)
    class Key:
        major: Any
        minor: Any

    def f(a, b):
        p, q = Key(a, b), Key(b, a)
        return p == q, p != q, p < q, p <= q, p > q, p >= q, p == Key(a, b), Pair(a, b) == (a, 1), Pair(a) != Pair(b)

    same(f, *pairs())


def test_objects_of_plain_classes_may_change_where_all_threads_see_it():
    class Allocator:
        def __init__(self):
            self.offset = 0
            self.names = []

        def take(self, size):
            start = self.offset
            self.offset += size
            self.names.append(size)
            return start

    def f(a):
        memory = Allocator()
        first, second = memory.take(16), memory.take(8)
        for k in (1, 2):
            memory.take(k)
        return first + a, second, memory.offset, memory.names

    same(f, *singles())


def test_containers():
    def g(a, b):
        xs = [a]
        xs.append(b)
        xs += [3]
        xs[0] = xs[0] + 1
        xs.extend((4, 5))
        xs.insert(1, 9)
        d = {"p": a}
        d["q"] = b
        d.update(r=3)
        d |= {"s": 4}
        ys = xs[1:3]
        ys.reverse()
        zs = xs + ys
        zs.pop()
        first, *middle, last = (a, b, 3, 4)
        middle.append(last)
        copied = d.copy()
        copied["p"] = 0
        return xs, d, ys, zs, first, middle, last, copied

    same(g, *pairs(0, 3))

    def h(a, b):
        s = {1, 2}
        s.add(3)
        q = deque([a])
        q.appendleft(b)
        ws = sorted({2, 1})
        ws.append(a)
        head, (mid, *_) = a, [b, 1]
        words = ["x", "y"]
        words.append("z")
        d = {"p": a, "q": b}
        return (
            sorted(s), list(q), ws, head, mid, len(words), [*ws, *q], (*ws, a), list({**d, "t": b}.values()),
            len({*s, 7}), [v for _, v in d.items()], list(d) == ["p", "q"],
        )  # fmt: skip

    same(h, *pairs(0, 3))


def test_comprehensions():
    def f(a, b):
        return (
            [k * a for k in (1, 2, 3)],
            [k + j for k in range(2) for j in range(k, 3) if (k + j) % 2],
            {k: v + b for k, v in zip("xy", (a, b))},
            len({k % 2 for k in range(5)}),
            [[r * c for c in (1, 2)] for r in (a, b)],
            [i + x for i, x in enumerate((a, b), 1)],
            [x for x in reversed((a, b))],
            [x if x > 0 else -x for x in (a, b)],
            dict([(1, a)]),
        )

    same(f, *pairs(-1, 2))


def test_iteration_over_compile_time_sequences():
    def f(a):
        s = 0
        for k in (1, 2):
            s += k * a
        for i, (x, y) in enumerate(zip((1, 2), [a, 3])):
            s = s * 2 + i * x + y
        for key, value in {"x": 1, "y": a}.items():
            s += value * len(key)
        for c in "ab":
            s += ord(c)
        for n in sorted({3, 1, 2}):
            s = s * 2 + n
        for i in reversed(range(3)):
            s = s * 2 + i
        for i in reversed(range(a)):
            s = s * 3 + i
        for i in range(10)[2:9:3]:
            s += i
        return s, len(range(a)), range(5)[2], range(a + 2)[1]

    same(f, *singles(0, 1, 2, 4))


def test_lists_may_change_that_are_the_same_on_all_paths():
    def f(a, b):
        xs, ys = [1, a], [b, 2]
        state, both = (0, xs), {"x": xs, "n": 0}
        if a > b:
            state, both = (1, xs), {"x": xs, "n": a}
        for i in range(2):
            state = (state[0] + i, xs)
        ys = [a, b] if a > 0 else ys
        xs[0] += 5
        xs.append(b)
        return state[0], *state[1], *both["x"], both["n"], *ys

    same(f, *pairs())


def test_lists_may_change_that_met_where_nothing_reads_what_they_became():
    def f(a, b):
        xs, ys = [a], [b]
        t = xs if a > b else ys
        first = t[0]
        xs.append(3)
        ys.append(first)
        zs, other = [1], [1]
        last = (lambda: zs if a > 0 else other)()[0]
        zs[0] = 5
        other.append(last)
        n = [xs, ys][a > b][0]
        ys[0] = 7
        return xs, ys, zs, other, n

    same(f, *pairs())


def test_one_list_stays_one_list():
    def f(a, b):
        xs = [1]
        alias = xs
        if a > b:
            n = 1
        else:
            n = 2
        xs.append(n)
        for i in range(a):
            n += len(alias)
        return alias, n

    same(f, *pairs())


def test_initialisers_are_inlined():
    @dataclass
    class Basket:
        items: list = field(default_factory=list)
        total: Any = 0

        def put(self, x):
            self.items.append(x)
            self.total += x
            return self

    @dataclass(frozen=True)
    class Clamped:
        n: Any
        low: Any = 0

        def __post_init__(self):
            assert isinstance(self.low, int)
            n = self.n
            if n < self.low:
                n = self.low
            object.__setattr__(self, "n", n)

    def f(a, b):
        basket = Basket().put(a).put(b)
        again = dataclasses.replace(Clamped(a), n=b, low=1)
        return basket.total, basket.items, Clamped(a).n, Clamped(b, 2).n, again.n, again.low

    same(f, *pairs())


def test_arrays_of_numpy_change_as_they_do_in_python():
    def f(a, b):
        one = np.zeros((2, 3), np.int64)
        other, row = one, one[1]
        other += 1
        row[0] = 7
        one.T[1:] *= 2
        table, copied = np.linspace(0, 2, 3), COUNTS[[3, 1]]
        for i in (0, 1, 2):
            table[i] += i
        copied.sort()
        low, high = np.divmod(COUNTS, 2)
        low |= high
        n = 0
        while n < 2:
            table[n] -= 1
            n += 1
        return [int(x) + a for x in (*one.ravel(), *table, *copied, *low)], int(COUNTS.sum()) + b

    same(f, *pairs(1, 2))


def test_generators_of_random_numbers_are_objects_that_change():
    def f(a, b):
        draws, others = random.Random(5), np.random.default_rng(5)
        cards = [draws.randint(0, 99) for _ in range(4)]
        draws.shuffle(cards)
        n = 0
        while n < 3:
            n += 1
            a += draws.randrange(10)
        return cards, a + draws.choice((1, 2, 3)), [b + int(x) for x in others.integers(0, 99, 4)]

    same(f, *pairs(1, 2))


def kernel_that(body):
    space = dict(globals())
    lines = "\n".join(f"    {line}" for line in body.splitlines())
    exec(f"def kernel(out, a):\n{lines}\n", space)
    return space["kernel"]


class Remembers:
    def __init__(self, x):
        self.x = x

    @cached_property
    def twice(self):
        return self.x * 2

    @cached_property
    def items(self):
        return [self.x]

    def put(self, x):
        super().__setattr__("x", x)


@dataclass(unsafe_hash=True)
class Equal:
    x: int


class Late:
    """An attribute that is computed when it is asked for."""

    def __get__(self, obj, kind=None):
        obj.at += 1
        return 1 if obj.at > 3 else obj.items[obj.at]


class Reader:
    """An object that methods change which Python calls; `__slots__` are empty until then."""

    __slots__ = ("at", "items")

    def __init__(self, *items):
        self.items, self.at = items, 0

    def __getattr__(self, name):
        if name not in self.items:
            raise AttributeError(name)
        self.at += 1
        return self.at

    late = Late()

    def __iter__(self):
        return self

    def __next__(self):
        if self.at == len(self.items):
            raise StopIteration
        self.at += 1
        return self.items[self.at - 1]

    def __str__(self):
        self.at += 1
        return "reader"


OUTSIDE = [1, 2]
SETTINGS = {"x": 1}
DRAWS = random.Random(5)
REMEMBERS = Remembers(7)
SLOTTED = type("Slotted", (), {"__slots__": ("x",)})()
TAKEN = iter([1, 2])
PAIRED = zip((1, 2), (3, 4), strict=True)
YIELDS = (x for x in (1, 2))
THING = type("Thing", (), {})()
SIZED = type("Sized", (), {"dims": 3})()


@pytest.mark.parametrize(
    ("body", "message"),
    [
        ("SETTINGS['x'] = a", "assigning to an item would change a dict that this kernel did not make"),
        ("THING.x = 1", "assigning to `.x` would change a Thing that this kernel did not make"),
        ("list.append(OUTSIDE, a)", "would change a list that this kernel did not make"),
        ("import heapq\nheapq.heappush(OUTSIDE, 0)", "`heappush()` would change a list that this kernel did not make"),
        ("COUNTS.fill(a.dtype.bits)", "`fill()` would change a ndarray that this kernel did not make"),
        ("np.add(COUNTS, 1, out=COUNTS)", "`add()` would change a ndarray that this kernel did not make"),
        ("np.put(COUNTS, [0], [7])", "`put()` would change a ndarray that this kernel did not make"),
        ("xs = []\nfor i in range(a):\n    xs += [i]", "`+=` would change a compile-time list under a run-time"),
        (
            "xs = [1, 2]\nwhile a > 0:\n    xs[0] = a\n    a -= 1",
            "assigning to an item would change a compile-time list",
        ),
        (
            "xs = array_of_python.array('i', [1])\nfor i in range(4):\n    xs.append(1)",
            "`.append()` would change a compile-time array under a run-time condition or in a run-time loop",
        ),
        *(
            (
                f"r = Reader('x', 2)\nif a > 0:\n    x = {change}",
                "a method that Python calls would change a compile-time Reader",
            )
            for change in (
                "sum(iter(r))",
                "list(r)",
                "next(r, 0)",
                "f'{r}'",
                "r.x",
                "r.late",
                "[*zip(r, r)]",
                "hasattr(r, 'x')",
            )
        ),
        *(
            (
                f"xs = [1, 2]\nys, t = xs, (xs, 3)\n{paths}\nout[0] = len(ys) + len(t)",
                "would change a list that depends on the path",
            )
            for paths in (
                "if a > 0: ys = [5, 6]\nxs[0] = 9",
                "if a > 0: ys = [1, 2]\nys.append(9)",
                "if a > 0: t = ([5, 6], 3)\nxs += [9]",
                "for i in range(a): ys = [i, 6]\nxs[0] = 9",
                "ys = {'x': xs} if a > 0 else {'x': [5, 6]}\nxs.clear()",
                "ys = (lambda: xs if a > 0 else [5, 6])()\nxs[0] = 9",
                "ys = [xs, [5, 6]][a]\nxs[0] = 9",
                "ys = min([xs, [5, 6]], key=lambda x: x[0] * a)\nxs[0] = 9",
                "d = {'k': [xs if a > 0 else [5, 6]]}\nxs[0] = 9\nout[0] = d['k'][0][1]",
                "t = xs if a > 0 else [5, 6]\nf = lambda: t[0]\nxs[0] = 9\nout[0] = f()",
                "t = UserList([xs if a > 0 else [5, 6]])\nxs[0] = 9\nout[0] = t[0][1]",
                "for x in [xs if a > 0 else [5, 6], xs]:\n    xs[0] = 9\n    out[0] = x[0]",
                "def f(i):\n    xs[0] += 1\n    return xs if a > i else [5, 6]\nys = list(map(f, (0, 1)))",
                "def f():\n    xs[0] = 9\n    return 1\nt = (xs if a > 0 else [5, 6]), f()",
                "def f(x):\n    xs[0] = 9\n    return x[0]\nys = [f(xs if a > 0 else [5, 6])]",
            )
        ),
        (
            "p = Equal(1)\nq = p\nif a > 0: p = Equal(1)\nq.x = 2\nout[0] = p.x",
            "would change a Equal that depends on the path",
        ),
        ("x = Reader(a, a)\nx.at = a\nout[0] = x.late", "decides something in `Late.__get__`, which Python executes"),
        *(
            (f"xs, ys = [1], [2]\nt = xs if a > 0 else ys\nout[0] = {asked}", "`is` on a list that depends on the path")
            for asked in ("t is xs", "ys is not t", "t is ([xs, ys][a])")
        ),
        ("xs = UserList()\nif a > 0:\n    xs.append(1)", "`.append()` would change a compile-time UserList under a"),
        ("xs = Counter('ab')\nif a > 0:\n    xs.subtract('a')", "`.subtract()` would change a compile-time Counter"),
        (
            "r = random.Random(5)\nfor i in range(a): out[0] = r.randint(0, 9)",
            "`.randint()` would change a compile-time Random under a run-time condition or in a run-time loop",
        ),
        (
            "r = np.random.default_rng(5)\nif a > 0:\n    out[0] = int(r.integers(9))",
            "`.integers()` would change a compile-time Generator under a run-time condition or in a run-time loop",
        ),
        ("out[0] = DRAWS.randint(0, 9)", "`.randint()` would change a Random that this kernel did not make"),
        ("p = State(1)\np.index = 3", "the attribute `index` of a State cannot be assigned"),
        ("a.x = 3", "the attribute `x` of a run-time i32 cannot be assigned"),
        ("t = (1, 2)\nt[0] = 1", "a tuple cannot be changed"),
        ("object.__setattr__(THING, 'x', 1)", "would change a Thing that this kernel did not make"),
        (
            "p = Odd(1)\nif a > 0:\n    operator.iadd(p, 1)",
            "assigning to `.x` would change a compile-time Odd under a run-time",
        ),
        ("THING.__setattr__('x', 1)", "setting `.x` would change a Thing that this kernel did not make"),
        ("type.__setattr__(Odd, 'x', 1)", "setting `.x` would change the class `Odd` that this kernel did not make"),
        ("type.__delattr__(Odd, '__init__')", "would change the class `Odd` that this kernel did not make"),
        ("type(SLOTTED).x.__set__(SLOTTED, 2)", "`.__set__()` would change a Slotted that this kernel did not make"),
        ("for x in TAKEN: out[0] = x", "this would use up a list_iterator that this kernel did not make"),
        ("out[0] = sum(TAKEN)", "this would use up a list_iterator that this kernel did not make"),
        ("for x, y in zip((a, a), TAKEN): out[0] = x + y", "would use up a list_iterator"),
        ("x, *y = TAKEN", "would use up a list_iterator"),
        ("out[0] = max(*TAKEN)", "would use up a list_iterator"),
        ("out[0] = 1 in TAKEN", "would use up a list_iterator"),
        ("xs = []\nxs += TAKEN", "would use up a list_iterator"),
        ("xs = []\nxs.extend(TAKEN)", "would use up a list_iterator"),
        ("out[0] = next(TAKEN)", "would use up a list_iterator"),
        ("out[0] = TAKEN.__next__()", "would use up a list_iterator"),
        ("xs = tuple(copy.copy(PAIRED))", "this would use up a zip that this kernel did not make"),
        ("for x in YIELDS: out[0] = x", "this would use up a generator that this kernel did not make"),
        ("REMEMBERS.put(1)", "setting `.x` would change a Remembers that this kernel did not make"),
        (
            "p = Remembers(1)\nif a > 0:\n    p.put(2)",
            "setting `.x` would change a compile-time Remembers under a run-time",
        ),
        (
            "p = Remembers(1)\nfor i in range(a): p.__delattr__('x')",
            "deleting `.x` would change a compile-time Remembers",
        ),
        ("setattr(THING, 'x', 1)", "`setattr()` cannot be used in a kernel"),
        ("x = State(1).idnex", "did you mean `index`?"),
        ("x = Complex(a, 1) < 3", "a run-time i32 has no attribute"),
        ("x = Complex(a, 1) - 3", "`-` is not defined for a Complex and 3"),
        ("xs = np.zeros(4)\nxs[0] = a", "an array of NumPy takes what is known at compile time, not a run-time i32"),
        ("xs = np.zeros(4)\nxs[a] = 1", "an array of NumPy takes what is known at compile time, not a run-time i32"),
        ("xs = COUNTS\nxs += 1", "`+=` would change a ndarray that this kernel did not make"),
        ("xs = COUNTS[1:]\nxs[0] = 1", "assigning to an item would change a ndarray that this kernel did not make"),
        ("random.Random(1).shuffle(COUNTS)", "`shuffle()` would change a ndarray that this kernel did not make"),
        *(
            (
                f"xs = np.arange(4)\nif a > 0:\n    {change}",
                "would change a compile-time ndarray under a run-time condition",
            )
            for change in ("xs += 1", "xs[0] = 1", "xs.fill(1)", "np.add(xs, 1, out=xs)", "xs[1:].sort(); xs.T[0] = 2")
        ),
        ("x = 1j * a", "help: keep real and imaginary parts apart"),
        ("for i in range(a * 0.5): out[0] = i", "help: convert it: `int(...)`"),
        ("out[0] = bisect.bisect((1, 2), 1)", "help: import it beside the kernel: `import bisect`"),
        ("out[0] = i32(a.__class__ is int)", "the dtype i32 is never `int`"),
        ("out[0] = {bool: 1, int: 2}.get(type(a), 3)", "the dtype i32 is never `bool`"),
        *(
            (f"out[0] = i32({asked})", "the dtype i32 is never `int`")
            for asked in (
                "operator.is_(type(a), int)",
                "operator.is_not(type(a), int)",
                "(type(a), 1) == (int, 1)",
                "(type(a), 1) in [(int, 1)]",
                "(int,).count(type(a))",
                "[int].index(type(a))",
                "{int: 1}[type(a)]",
                "Counter([type(a)])[int]",
            )
        ),
        ("out[0] = i32(operator.is_(a, a))", "`is` on run-time numbers"),
        ("out[0] = sorted([a, 2], key=cmp_to_key(lambda x, y: x - y))[0]", "a run-time value decides something"),
        ("out[0] = sum(islice((x for x in itertools.count()), 2))", "let it iterate over an `itertools.islice`"),
        ("out[0] = operator.attrgetter('hex')(a)", "a run-time i32 has no attribute `hex`"),
        ("x = THING + a", "`+` is not defined for a Thing and a run-time i32"),
        ("x, y = (1, 2, 3)", "3 values cannot be unpacked into 2 names"),
        ("x, *y = ()", "0 values cannot be unpacked into 1 names or more"),
        ("d = {'x': a}\nout[0] = d['y']", "KeyError: 'y'"),
        ("out[0] = i32(COUNTS[a])", "a NumPy array that is no argument is looked into at compile time"),
        ("m = Mode.FAST if a > 1 else Mode.SLOW\nout[0] = m.value", "it may be Mode.FAST or Mode.SLOW"),
        (
            "m = Mode.FAST if a > 1 else Mode.SLOW\nout[0] = m.value",
            "make Mode an enum.IntEnum, whose members are numbers",
        ),
        (
            "m = Level.LOW if a > 1 else Level.HIGH\nout[0] = m",
            "let values of the members of Level meet, if they are numbers",
        ),
        *(
            (f"m = Bits.A if a > 1 else Bits.B\nout[0] = {asked}", "a run-time i32 may be of Bits or not")
            for asked in ("isinstance(m, Bits)", "isinstance(m, (str, Bits | None))", "1 if isinstance(m, Bits) else 2")
        ),
        (
            "p = Odd(1)\nfor i in range(a):\n    out[0] = p.x\n    p = Odd(a)",
            "make Odd a frozen dataclass or a named tuple",
        ),
        ("xs = [a]\nout[0] = xs[1]", "IndexError: list index out of range"),
        ("x = zip((1,), (a,))[0]", "an iterator has no elements to index"),
        ("x = {1: a}.values()[0]", "help: make a tuple of it: `tuple(...)`"),
        ("x = {1, 2}[0]", "help: make a tuple of it: `tuple(...)`"),
        ("x = (lambda x: x)[a]", "help: call it, `f(...)`"),
        ("x = None[0]", "None has no elements to index"),
        ("x = {1: a}(1)", "help: its elements are in brackets: `x[i]`"),
        ("x = SIZED.dim", "help: did you mean `dims`?"),
    ],
)
@pytest.mark.filterwarnings("ignore::SyntaxWarning")  # Python's own, of some of these
def test_mistakes(body, message):
    with pytest.raises(CompileError) as caught:
        compiled(kernel_that(body), out=array(i32, 4), a=i32)
    assert message.replace("a run-time i32 has no attribute", "") in str(caught.value)
    assert OUTSIDE == [1, 2]
    assert SETTINGS == {"x": 1}
    assert list(copy.copy(TAKEN)) == [1, 2]


class Counting:
    def __init__(self):
        self.n = 0

    def __iter__(self):
        return self

    def __next__(self):
        self.n += 1
        return self.n


@cache
def counting():
    return Counting()


def test_copies_of_iterators_of_the_users_classes_are_of_these_classes():
    def kernel(out, a):
        copied = copy.copy(Counting())
        copied.n = 3
        out[0] = a + copied.n + counting().n

    assert compiled(kernel, out=array(i32, 1), a=i32)


@cache
def thirds():
    return iter((3, 6))


def test_each_compile_takes_all_items_of_iterators_that_are_copied_or_made_by_cached_functions():
    def kernel(out, a):
        for n, x in enumerate(copy.copy(TAKEN)):
            out[n] = a + x
        for n, x in enumerate(thirds()):
            out[2 + n] = a + x

    for _ in range(2):
        stored = [op for op in compiled(kernel, out=array(i32, 4), a=i32).ops() if op.name == "tensor.store"]
        assert len(stored) == 4


def test_structured_parameters():
    def kernel(out, state, pair, known):
        for _ in range(pair.x):
            state = state.advance()
        out[0] = state.index + known.y
        if pair.y:
            out[1] = state.phase

    args = {
        "out": array(i32, 2),
        "state": Struct(State, (("stages", Constant(2)), ("index", i32), ("phase", i32))),
        "pair": Struct(Pair, (("x", i32), ("y", boolean))),
        "known": Constant(Pair(1, 5)),
    }
    made = build(kernel, args, {}, {})
    verify(made)
    out = [None, None]
    run(made, [out, 1, 0, 4, True])
    assert out == [6, 0]


class Level(enum.Enum):
    LOW, HIGH = 0.5, 1.5


class Mode(enum.Enum):
    FAST = 1
    SLOW = 2


class Bits(enum.IntFlag):
    A = 1
    B = 4


TABLE = np.array([1.5, 2.5, 3.5])
COUNTS = np.arange(5)


def test_enums_and_numpy_tables_are_constants():
    def f(a, b):
        mode = Mode.FAST if len(TABLE) > 2 else Mode.SLOW
        match mode:
            case Mode.FAST:
                r = a
            case Mode.SLOW:
                r = b
        own = COUNTS.copy()
        own.fill(3)
        np.add(own, COUNTS, out=own)
        s = int(own[4])
        for k in range(3):
            s += int(COUNTS[2]) + a * COUNTS[3]
        return r + (Bits.A | Bits.B) + Mode(2).value + (a & Bits.B), s, int(COUNTS.sum()), mode is Mode.FAST

    same(f, *pairs())


@singledispatch
def dispatched(x):
    return 0


@dispatched.register
def _(x: int):
    if x > 1:
        return 1
    return 2


@dispatched.register(numbers.Real)
def _(x):
    return 3 if x > 0.0 else 4


class Dispatching:
    @singledispatchmethod
    def plain(self, x):
        return 0

    @plain.register
    def _(self, x: int):
        if x > 1:
            return 1
        return 2

    @singledispatchmethod
    @classmethod
    def of_class(cls, x):
        return 3

    @of_class.register(numbers.Real)
    @classmethod
    def _(cls, x):
        return 4 if x > 0.0 else 5


def test_methods_by_class_and_questions_of_numpy():
    of = Dispatching()

    def f(a, b):
        x = a * 0.5
        asked = [(np.isscalar(y), np.iterable(y)) for y in (a, x, a > b, None, "text", range(3), [a])]
        return [of.plain(a), of.plain(x), of.of_class(x), Dispatching.of_class(b), of.plain("text")], asked

    same(f, *pairs(0, 1))


def test_classes_in_unions_tuples_and_abc():
    kinds = int | float, int | None, float | str, (str, (float, int)), Union[str, int], numbers.Real, Iterable, object
    names = "real", "is_integer", "__iter__", "__index__", "__len__", "shape"

    def f(a, b):
        x = a * 0.5
        several = a, x, a > b, None, "text", Bits.A, range(a)
        asked = [sum(isinstance(y, kind) << i for i, kind in enumerate(kinds)) for y in several]
        match x:
            case int() | str():
                return 1
            case numbers.Real():
                has = [sum(hasattr(y, name) << i for i, name in enumerate(names)) for y in several]
                return asked, has, [dispatched(y) for y in several[:5]]

    same(f, *pairs(0, 1))


def test_classes_of_numbers_are_subclasses_of_pythons():
    def f(a, b):
        classes = type(a), type(a * 0.5), type(a > b), str
        kinds = int, float, (str, float), int | str, numbers.Integral, object
        return [sum(issubclass(cls, kind) << i for i, kind in enumerate(kinds)) for cls in classes]

    same(f, *pairs(0, 1))


def test_sorting_by_a_comparison():
    def f(a, b):
        order = cmp_to_key(lambda x, y: y[0] - x[0])
        found = sorted([(3, a), (1, b), (2, a + b)], key=order)
        return found, min(found, key=order), order((2, a)) < order((1, b))

    same(f, *pairs(0, 5))


def test_classes_of_iterators_and_questions_of_inspect():
    kinds = Iterator, Generator, types.GeneratorType, enumerate, zip, map, groupby, tuple
    names = "__next__", "send", "__len__", "items", "at"

    def f(a, b):
        several = (x for x in (a, b)), iter([a]), enumerate([a]), zip([a], [b]), map(abs, [a]), groupby([1]), (a,)
        asked = [sum(isinstance(x, kind) << i for i, kind in enumerate(kinds)) for x in several]
        has = [sum(hasattr(x, name) << i for i, name in enumerate(names)) for x in several]
        drawn, function = next(several[0]), lambda x: x
        told = inspect.isfunction(function), inspect.isgenerator(several[0]), inspect.isclass(a), inspect.isroutine(abs)
        compared = (
            operator.is_(a > b, True),
            operator.is_not(a, None),
            "bit_length" in dir(a),
            "items" in dir(several[1]),
        )
        return asked, has, drawn, type(several[0]) is types.GeneratorType, told, compared

    same(f, *pairs(0, 1))


class Step(enum.IntEnum):
    IDLE = 0
    RUN = 1
    DONE = 5


def test_members_of_enums_of_numbers_meet_as_numbers():
    def f(a, b):
        step, n, seen = Step.IDLE, 0, Bits(0)
        while step != Step.DONE and n < 20:
            match step:
                case Step.IDLE:
                    if n >= a:
                        step = Step.RUN
                case Step.RUN:
                    seen |= Bits.B if n > b else Bits.A
                    if n > 5:
                        step = Step.DONE
            n += 1
        pair = (Step.RUN, a + 1) if a > b else (Step.RUN, b)  # one of them on both paths keeps its name
        return step, n, seen & Bits.B, [Step.RUN, Step.DONE][a & 1], len(pair[0].name) + pair[1]

    def g(a, b):
        for step in Step:
            if a == step:
                return len(step.name)  # known in each iteration
        return b

    same(f, *pairs(-3, 0, 1, 7))
    same(g, *pairs(0, 1, 2, 5))


@dataclass(frozen=True, slots=True)
class Slotted:
    x: Any
    y: Any = 3

    def up(self):
        return Slotted(self.x + 1, self.y * 2) if self.x > 0 else self


@dataclass(frozen=True, kw_only=True)
class Keyed(Slotted):
    z: Any = 1


def test_dataclasses_with_slots_and_keywords():
    def f(a):
        s = Slotted(a)
        for _ in range(3):
            s = s.up()
        k = Keyed(x=a, z=s.y)
        k = dataclasses.replace(k, y=k.z + 1) if a > 1 else k
        return s.x, s.y, k.x, k.y, k.z

    same(f, *singles())


class Doubling(dict):
    def __getitem__(self, key):
        return dict.__getitem__(self, key) * 2

    def __iter__(self):
        return iter(("y", "x"))


class Ends(list):
    def __iter__(self):
        return iter((list.__getitem__(self, 0), list.__getitem__(self, -1)))

    def extend(self, items):
        list.extend(self, [*items, 7])


class Ordered(OrderedDict):
    def __getitem__(self, key):
        return OrderedDict.__getitem__(self, key) + 1


def test_containers_of_the_users_classes_hold_what_they_held():
    """Whether Python's functions changed them is seen by no method of their own."""

    def f(a, b):
        d, ends, o = Doubling(x=a, y=b), Ends([1, 5, 9]), Ordered(x=a, y=b)
        looked, second = d["x"], list.__getitem__(ends, 1)
        o.move_to_end("x")
        heapq.heappush(ends, 12)
        return looked, second, list(d.values()), len(ends), sum(ends), o["x"], list(o.values()), list(o)[0] == "y"

    same(f, *pairs(-1, 2, 3))


class Pair2(tuple):
    def __new__(cls, x, y):
        if x < 0:
            x = -x
        return tuple.__new__(cls, (x, y))


class Twofold:
    def __new__(cls, v, w=1):
        self = super().__new__(cls)
        self.kind = 1 if v > 0 else 2
        return self

    def __init__(self, v, w=1):
        self.v = v if v > 1 else w
        self.v += self.kind


class Elsewhere:
    def __new__(cls, v):
        return v, v + 1

    def __init__(self, v):
        raise ValueError


class Beginning(list):
    def __new__(cls, *items):
        return super().__new__(cls)


class Odd:
    def __init__(self, x):
        self.x = x

    def __add__(self, other):
        return Odd(self.x - other.x if self.x > other.x else self.x + other.x)

    def __iadd__(self, by):
        self.x += by if by > 0 else 1
        return self

    def __neg__(self):
        return Odd(-self.x if self.x > 0 else 5)

    def __lt__(self, other):
        return self.x < other.x

    def __getitem__(self, i):
        return self.x if i > 0 else 7

    def __contains__(self, x):
        return x > 1 or x == self.x


class Counted(list):
    def __iadd__(self, items):
        self.append(len(items))
        return self


def test_functions_of_pythons_operator_are_the_operators():
    def f(a, b):
        p, q, r, xs = Odd(a), Odd(b), Odd(1), Counted([a])
        r = operator.iadd(r, a)
        xs += (1, 2, 3)
        ys = operator.iadd([a], [b])
        return (
            operator.add(p, q).x, operator.neg(p).x, operator.lt(p, q), operator.getitem(p, b), operator.contains(p, b),
            r.x, xs[-1], len(xs), ys, reduce(operator.add, (p, q, Odd(2))).x, list(map(operator.sub, (a, b), (1, 2))),
            operator.floordiv(a, 2), operator.invert(a), operator.getitem((a, b), 1), operator.ne(a, b),
        )  # fmt: skip

    same(f, *pairs(-1, 1, 2))


def test_a_class_may_make_its_objects_itself():
    def f(a, b):
        p, t, xs = Pair2(a, b), Twofold(a, w=b), Beginning((a, b))
        t.kind += 5
        xs.append(b)
        third = Fraction.__new__(Fraction, 2, 6)
        return p[0], p[1], isinstance(p, Pair2), t.v, t.kind, Elsewhere(a), list(xs), third.denominator

    same(f, *pairs(-1, 1, 2))


def test_operators_change_containers_of_the_library_in_place():
    def f(a, b):
        numbers, listed, pairs = array_of_python.array("i", [1]), UserList([a]), UserDict({1: a})
        others = numbers, listed, pairs
        numbers += array_of_python.array("i", [2])
        listed += [b]
        listed.append(a)
        pairs |= {2: b}
        return list(numbers), list(listed), others[0] is numbers, len(others[1]), pairs[2], len(others[2])

    same(f, *pairs(-1, 2))


def test_generators_that_a_generator_makes():
    def f(a):
        first, second = np.random.default_rng(3).spawn(2)
        return a + int(first.integers(99)), int(second.integers(99))

    same(f, *singles())


def test_a_cached_property_is_kept_by_its_object():
    def f(a, b):
        p, q, total = Remembers(a), Remembers(b), 0
        before = p.twice
        p.put(b)
        p.items.append(a)
        q.twice = 7
        for i in range(3):
            total += p.twice * i + Remembers(i).twice
        if b > 0:
            total += Remembers(a).twice
        return before, p.twice, p.x, p.items, q.twice, total

    same(f, *pairs(-1, 1, 2))


def test_copies_of_objects_hold_the_same_values():
    def f(a):
        s = Slotted(a)
        for _ in range(3):
            s = s.up()
        listed = [a, (s,)]
        deep, shallow = copy.deepcopy(listed), copy.copy(s)
        deep[0] = a + 1
        return dataclasses.astuple(s), dataclasses.asdict(s), listed[0], deep[0], deep[1][0].y, shallow.x

    same(f, *singles())


@dataclass
class Notes:
    first: Any
    rest: list = field(default_factory=list)


class Filled(dict):
    def __missing__(self, key):
        self[key] = [key]
        return self[key]


def test_what_a_kernel_copies_or_looks_up_first_is_its_own():
    def f(a, b):
        notes, counts, lists, filled = Notes(a, [b]), defaultdict(int), defaultdict(list), Filled()
        shallow, deep, rows = copy.copy(notes), copy.deepcopy([notes, [a]]), list(map(list, ((a, b), (1, 2))))
        shallow.first = 5
        deep[0].first += 1
        deep[0].rest.append(a)
        deep[1].append(3)
        rows[0][0] = 7
        counts["a"] += a
        lists["a"].append(a)
        lists["b"] += [b]
        filled[3].append(b)
        return (
            notes.first, notes.rest, shallow.first, deep[0].first, deep[0].rest, deep[1], rows,
            counts["a"], len(counts), lists["a"], lists["b"], filled[3], len(filled),
        )  # fmt: skip

    same(f, *pairs(0, 1))


class Written(TypedDict):
    first: Any
    second: Any


def test_a_typed_dict():
    def f(a, b):
        pair = Written(first=a, second=b)
        pair["first"] += pair["second"]
        return pair["first"], len(pair)

    same(f, *pairs(0, 1))


def test_fields_that_are_not_parameters_of_init():
    @dataclass(frozen=True)
    class Derived2:
        n: Any
        double: Any = field(init=False)

        def __post_init__(self):
            object.__setattr__(self, "double", self.n * 2)

    def f(a):
        d = Derived2(a)
        if a > 0:
            d = Derived2(a + 1)
        return d.n, d.double

    same(f, *singles())


def test_a_frozen_dataclass_with_an_init_of_its_own():
    @dataclass(frozen=True, init=False)
    class Ordered:
        low: Any
        high: Any

        def __init__(self, a, b):
            for name, value in (("low", min(a, b)), ("high", max(a, b))):
                object.__setattr__(self, name, value)

    def f(a, b):
        both = Ordered(a, b)
        if a > 2:
            both = Ordered(b, 7)
        return both.low, both.high, Ordered(1, 0).high

    same(f, *pairs())


def test_a_leaf_that_changes_its_type_is_named():
    def kernel(out, a):
        state = State(3, 0, 0)
        for i in range(a):
            if i > 2:
                state = State(3, state.index + 1, state.phase + 0.5)
            else:
                state = State(3, state.index + 1, i)
        out[0] = state.phase

    with pytest.raises(CompileError) as caught:
        compiled(kernel, out=array(f32, 1), a=i32)
    assert "another type on another path" in str(caught.value)

    def kernel2(out, a):
        pair = (a, a)
        for _ in range(a):
            pair = (pair[0], pair[1] * 0.5)
        out[0] = pair[1]

    with pytest.raises(CompileError) as caught:
        compiled(kernel2, out=array(f32, 1), a=i32)
    assert "`pair[1]` changes its type in the loop" in str(caught.value)


def test_python_computes_a_fact_once_where_a_property_is_inlined_each_time():
    class Sizes:
        counted: ClassVar[list[str]] = []

        def __init__(self, n):
            self.n = n

        @fact
        def squared(self):
            self.counted.append("squared")  # a list that the kernel has not made: evaluated, this would be refused
            return self.n * self.n

    sizes = Sizes(3)

    def kernel(out, a):
        for i in range(a):
            out[i] = sizes.squared + sizes.squared * a

    compiled(kernel, out=array(i32, 1), a=i32)
    assert Sizes.counted == ["squared"]
    assert Sizes(4).squared == 16
