"""Random structured programs over a few variables give the same numbers compiled as under CPython.

Loops are bounded by a counter of their own, and results are kept small by masks, so that integers of any width agree.
"""

from collections.abc import Callable
from typing import Any, NamedTuple

from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import cutelite as cl
from tests.front.differential import same

NAMES = ("a", "b", "c", "d")
VALUES = (-3, -1, 0, 1, 2, 6)
INDENT = "    "

Lines = list[str]


def names() -> st.SearchStrategy[str]:
    return st.sampled_from(NAMES)


def atoms() -> st.SearchStrategy[str]:
    return names() | st.integers(-4, 9).map(lambda n: f"({n})" if n < 0 else str(n))


def numbers() -> st.SearchStrategy[str]:
    """An expression of small value."""
    binary = st.tuples(atoms(), st.sampled_from(["+", "-", "*", "&", "|", "^"]), atoms()).map(
        lambda t: f"({t[0]} {t[1]} {t[2]})"
    )
    division = st.tuples(atoms(), st.sampled_from(("//", "%")), st.sampled_from((2, 3, 4, 7, -2, -3))).map(
        lambda t: f"({t[0]} {t[1]} ({t[2]}))"
    )
    unary = st.tuples(st.sampled_from(("-", "~", "abs")), atoms()).map(lambda t: f"{t[0]}({t[1]})")
    several = st.tuples(st.sampled_from(("min", "max")), atoms(), atoms()).map(lambda t: f"{t[0]}({t[1]}, {t[2]})")
    choice = st.tuples(atoms(), conditions(), atoms()).map(lambda t: f"({t[0]} if {t[1]} else {t[2]})")
    either = st.tuples(atoms(), st.sampled_from(("and", "or")), atoms()).map(lambda t: f"({t[0]} {t[1]} {t[2]})")
    call = st.tuples(atoms(), atoms()).map(lambda t: f"helper({t[0]}, {t[1]})")
    small = (binary | division | unary | several).map(lambda text: f"({text} % 97 - 20)")
    return atoms() | small | choice | either | call


def conditions() -> st.SearchStrategy[str]:
    compare = st.tuples(atoms(), st.sampled_from(["<", "<=", "==", "!=", ">", ">="]), atoms()).map(" ".join)
    chained = st.tuples(
        atoms(), st.sampled_from(["<", "<=", "!="]), atoms(), st.sampled_from(["<", "<="]), atoms()
    ).map(" ".join)
    both = st.tuples(compare, st.sampled_from(("and", "or")), compare).map(lambda t: f"({t[0]}) {t[1]} ({t[2]})")
    among = st.tuples(atoms(), atoms(), atoms()).map(lambda t: f"{t[0]} in ({t[1]}, {t[2]}, 3)")
    return compare | chained | both | compare.map(lambda text: f"not ({text})") | among | names()


def indented(lines: Lines) -> Lines:
    return [INDENT + line for line in lines]


class Program:
    """Draws statements. `loops` counts those around, of which each has a name for its counter."""

    def __init__(self, draw: Callable[[st.SearchStrategy[Any]], Any]) -> None:
        self.draw = draw
        self.counters = 0

    def block(self, depth: int, loops: int) -> Lines:
        count = self.draw(st.integers(1, 3))
        lines: Lines = []
        for _ in range(count):
            lines += self.statement(depth, loops)
        return lines

    def statement(self, depth: int, loops: int) -> Lines:
        kinds = ["assign", "assign", "augment", "pair", "step", "bump", "walrus"]
        if depth > 0:
            kinds += ["if", "if", "for", "while", "unrolled", "match", "forever", "function"]
        if loops:
            kinds += ["break", "continue", "return"]
        kind = self.draw(st.sampled_from(kinds))
        return getattr(self, f"make_{kind}")(depth, loops)  # type: ignore[no-any-return]

    def make_assign(self, depth: int, loops: int) -> Lines:
        return [f"{self.draw(names())} = {self.draw(numbers())}"]

    def make_augment(self, depth: int, loops: int) -> Lines:
        name = self.draw(names())
        return [f"{name} {self.draw(st.sampled_from(('+=', '-=', '^=')))} {self.draw(atoms())}", f"{name} %= 101"]

    def make_pair(self, depth: int, loops: int) -> Lines:
        x, y = self.draw(names()), self.draw(names())
        return [f"{x}, {y} = {self.draw(atoms())}, {self.draw(atoms())}"]

    def make_step(self, depth: int, loops: int) -> Lines:
        """A method of a structure, which branches and returns another one."""
        return [f"p = p.step({self.draw(atoms())})"]

    def make_bump(self, depth: int, loops: int) -> Lines:
        """Structures in tuples, and back."""
        return [
            f"(p, {self.draw(names())}), q = (Point(p.y, {self.draw(atoms())}), p.size), [p, p.x]",
            "p = q[0] if q[1] else p",
        ]

    def make_walrus(self, depth: int, loops: int) -> Lines:
        x, y = self.draw(names()), self.draw(names())
        return [f"{x} = sum((k := k0 + {y}) % 7 for k0 in (1, {self.draw(atoms())})) + ({y} := {self.draw(atoms())})"]

    def make_function(self, depth: int, loops: int) -> Lines:
        """A nested function that reads the variables around it, and may return early."""
        name = f"f{self.counter()}"
        returns = (
            [f"if {self.draw(conditions())}:", f"    return {self.draw(atoms())}"] if self.draw(st.booleans()) else []
        )
        x = self.draw(names())
        lines = [f"def {name}(n):", *indented([*returns, f"return (n + {self.draw(numbers())}) % 53"])]
        return [*lines, *self.block(depth - 1, loops), f"{x} = {name}({self.draw(atoms())})"]

    def make_if(self, depth: int, loops: int) -> Lines:
        lines = [f"if {self.draw(conditions())}:", *indented(self.block(depth - 1, loops))]
        if self.draw(st.booleans()):
            lines += [f"elif {self.draw(conditions())}:", *indented(self.block(depth - 1, loops))]
        if self.draw(st.booleans()):
            lines += ["else:", *indented(self.block(depth - 1, loops))]
        return lines

    def make_match(self, depth: int, loops: int) -> Lines:
        lines = [f"match {self.draw(names())}:", "    case 0 | 1:", *indented(indented(self.block(depth - 1, loops)))]
        lines += [f"    case n if n > {self.draw(atoms())}:", *indented(indented(self.block(depth - 1, loops)))]
        return lines

    def make_for(self, depth: int, loops: int) -> Lines:
        start, step = self.draw(st.integers(-2, 2)), self.draw(st.sampled_from((1, 1, 2, -1, -3)))
        stop = f"{start} + ({self.draw(names())} % 4) * {step}"
        counted = self.draw(
            st.sampled_from(("range({})", "range({})", "cl.range({}, unroll=2)", "cl.range({}, unroll=3)"))
        )
        lines = [
            f"for {self.draw(names())} in {counted.format(f'{start}, {stop}, {step}')}:",
            *indented(self.block(depth - 1, loops + 1)),
        ]
        return lines + self.otherwise(depth, loops)

    def make_unrolled(self, depth: int, loops: int) -> Lines:
        items = ", ".join(self.draw(st.lists(atoms(), min_size=1, max_size=3)))
        lines = [f"for {self.draw(names())} in ({items},):", *indented(self.block(depth - 1, loops + 1))]
        return lines + self.otherwise(depth, loops)

    def make_while(self, depth: int, loops: int) -> Lines:
        counter = self.counter()
        test = f"{counter} < {self.draw(st.integers(1, 4))} and ({self.draw(conditions())})"
        body = [f"{counter} += 1", *self.block(depth - 1, loops + 1)]
        return [f"{counter} = 0", f"while {test}:", *indented(body), *self.otherwise(depth, loops)]

    def make_forever(self, depth: int, loops: int) -> Lines:
        counter = self.counter()
        body = [f"{counter} += 1", f"if {counter} > {self.draw(names())} % 3 + 1:", "    break"]
        return [f"{counter} = 0", "while True:", *indented([*body, *self.block(depth - 1, loops + 1)])]

    def make_break(self, depth: int, loops: int) -> Lines:
        return [f"if {self.draw(conditions())}:", "    break"]

    def make_continue(self, depth: int, loops: int) -> Lines:
        return [f"if {self.draw(conditions())}:", "    continue"]

    def make_return(self, depth: int, loops: int) -> Lines:
        return [f"if {self.draw(conditions())}:", f"    return {self.draw(atoms())}, b, c, d, p.y, p.x, 0"]

    def otherwise(self, depth: int, loops: int) -> Lines:
        return ["else:", *indented(self.block(depth - 1, loops))] if self.draw(st.booleans()) else []

    def counter(self) -> str:
        self.counters += 1
        return f"k{self.counters}"


@st.composite
def programs(draw: Callable[[st.SearchStrategy[Any]], Any]) -> str:
    body = Program(draw).block(3, 0)
    start = ["def f(a, b):", "    c, d, p = 1, a, Point(b, 2)"]
    return "\n".join([*start, *indented(body), "    return a, b, c, d, p.x, p.y, p.size"])


class Point(NamedTuple):
    x: Any
    y: Any

    def step(self, by: Any) -> Any:
        if by > self.x:
            return self._replace(x=by % 31)
        return Point(self.y, (self.x + by) % 29)

    @property
    def size(self) -> Any:
        return self.x - self.y if self.x > self.y else self.y - self.x


def helper(x: Any, y: Any) -> Any:
    if x > y:
        return (x - y) % 50
    for i in range(3):
        if i == x:
            return i * 2
    return y % 50


@settings(max_examples=20, deadline=None, database=None, suppress_health_check=list(HealthCheck))
@given(programs(), st.lists(st.tuples(st.sampled_from(VALUES), st.sampled_from(VALUES)), min_size=1, max_size=3))
def test_random_programs(source: str, inputs: list[tuple[int, int]]) -> None:
    space: dict[str, Any] = {"cl": cl, "helper": helper, "Point": Point}
    exec(source, space)
    same(space["f"], *inputs)
