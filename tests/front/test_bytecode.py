# ruff: noqa: B023, B035, C416, E731, F821, I001, PIE800, PIE804, RUF015, SIM201, UP031
# mypy: disable-error-code="assignment, no-untyped-call, call-overload, arg-type"
# (the functions to be read are odd on purpose)
"""Neutral bytecode means what CPython's means: functions of compile-time objects give the same results."""

import glob
import opcode
import os
import sys
import types
import warnings
from collections.abc import Callable, Iterator
from copy import deepcopy
from dataclasses import dataclass
from typing import Any, NamedTuple

import pytest

from cutelite.diag import CompileError
from cutelite.front import bytecode
from cutelite.front.build import build
from cutelite.front.bytecode import read
from cutelite.front.types import Constant
from cutelite.front.instructions import EFFECTS, ENDS, JUMPS, Call, Bytecode, Instr, stack_effect

SCALE = 10


class Point(NamedTuple):
    x: int
    y: int


@dataclass
class Box:
    value: int
    tag: str = "box"

    def grow(self, by: int, *, times: int = 1) -> int:
        self.value += by * times
        return self.value


class Named(Box):
    def grow(self, by: int, *, times: int = 1) -> int:
        add = lambda n: n + by
        return super().grow(add(0), times=times) + SCALE

    def with_self_in_a_cell(self) -> int:
        return (lambda: self.value)() + super().grow(1)


# ---------------------------------------------------------------- functions to run, each with arguments


def arithmetic(a: int, b: int) -> Any:
    c = (a + b, a - b, a * b, a / b, a // b, a % b, a**b, a & b, a | b, a ^ b, a << b, a >> b)
    a += b
    a *= 3
    a -= 1
    a //= 2
    return c, a, -a, +a, ~a, not a


def comparisons(a: Any, b: Any) -> Any:
    return a < b, a <= b, a == b, a != b, a > b, a >= b, a is b, a is not b, a in (1, 2), a not in [b], 0 < a < b < 9


def short_circuit(a: Any, b: Any) -> Any:
    return a and b, a or b, (a or b) and (b or 3), a if b else SCALE, not (a and not b)


def nones(a: Any, b: Any) -> Any:
    r = []
    if a is None:
        r.append(1)
    if a is not None:
        r.append(2)
    while b is not None:
        b = None if b > 3 else b + 1
    return r, a is None and b is None, b


def loops(n: int, xs: list[int]) -> Any:
    total, seen = 0, []
    for i in [*range(n)]:
        if i == 3:
            continue
        if i == 7:
            break
        total += i
    else:
        total = -total
    while total < 100 and xs:
        total += xs.pop()
        if total == 50:
            continue
        seen.append(total)
    else:
        seen.append(-1)
    while True:
        total -= 7
        if total < 0:
            break
        for x in xs:
            for y in xs:
                if x == y:
                    break
            else:
                continue
            break
    return total, seen


def early_return(xs: list[int]) -> Any:
    for x in xs:
        if x > 3:
            return x
        while x:
            x -= 1
            if x == 1:
                return -x
    return None


def while_forms(n: int) -> Any:
    out = []
    while (m := n - 1) > 0 or n > 100:
        n = m
        out.append(m)
    while 0 < n < 5 and not n == 3:
        n += 1
        if n == 2:
            continue
        out.append(n)
    while n:
        n -= 1
    return out


def calls(a: int, b: int) -> Any:
    box = Box(a, tag="t")
    args, kw = (1, 2), {"key": len}
    return (
        box.grow(b),
        box.grow(1, times=2),
        max(a, b, key=lambda v: -v),
        max(*args, b),
        max(*args, a, b, **kw, default=3) if a > 100 else 0,
        sorted([b, *args, a], **{"reverse": True}),
        "-".join(map(str, args)),
        Box(**{"value": 4}).value,
        max(a, (b if a else 3), (lambda: [b for _ in "x"][0])()),
    )


def signature(a: int, /, b: int = 2, *args: int, c: int = 3, **kw: int) -> Any:
    return a, b, args, c, kw


def nested(a: int, b: int) -> Any:
    def power(n: int, base: int = b, *rest: int, plus: int = a) -> int:
        return 1 if n == 0 else base * power(n - 1, base) + plus * 0

    def make(k: int) -> Callable[[int], int]:
        return lambda v: v + k + a

    a += 1
    return power(3), make(5)(6), (lambda *xs, **kw: (xs, kw))(1, z=2)


def argument_cell(a: int) -> Any:
    f = lambda: a
    a += 1
    return f(), a


def comprehensions(xs: list[int], n: int) -> Any:
    x = n
    doubled = [x * 2 for x in xs]
    pairs = [(x, y) for x in xs if x > 1 for y in range(x) if y]
    squares = {x: x * n for x in xs}
    kinds = {x % 3 for x in xs}
    late = [f() for f in [lambda: x for x in xs]]
    grid = [[x * y for x in xs] for y in xs]
    shadow = [[x for x in range(x)] for x in xs]
    x = [x for x in xs]
    [n for n in xs]
    return x, n, doubled, pairs, squares, kinds, late, grid, shadow, sum(v * n for v in xs), {*kinds, n}


def comprehension_walrus(xs: list[int]) -> Any:
    last = -1
    r = [last := last + x for x in xs]
    return r, last


def comprehension_cells(xs: list[int], k: int) -> Any:
    x = 5
    g = lambda: x
    fs = [lambda: (x, k) for x in xs]
    x += 1
    return x, g(), [f() for f in fs], [x for y in [xs, xs] for x in y], g()


def comprehension_in_a_loop(xs: list[int]) -> Any:
    out: list[Any] = []
    for i in (0, 1, 2):
        if i == 1:
            continue
        out += [[x + i for x in xs if x != i], {i: x for x in xs}]
        x = i
    return out, x


def free_variable_in_comprehension(xs: list[int]) -> Any:
    k = 3

    def inner() -> Any:
        return [k + x for x in xs], [k for k in xs], k

    return inner()


def unpacking(xs: list[int]) -> Any:
    a, b, *c = xs
    (d, e), *f, g = (1, 2), 3, 4, 5
    a, b = b, a
    a, b, d = d, a, b
    first, *_ = xs
    h = [*xs, *f, 9]
    i = (*xs, 1)
    j = {**{"u": a}, "v": b}
    k = {"p": a, "q": b}
    return a, b, c, d, e, f, g, first, h, i, j, k, {*xs, 4}


def subscripts(xs: list[int]) -> Any:
    table = {"a": [1, 2, 3]}
    table["a"][1] += 5
    table["b"] = xs[1:3]
    xs[0:1] = [7, 8]
    box = Box(3)
    box.value += 4
    box.tag = "u"
    return table, xs, xs[:-1], xs[::2], xs[-1], box


def strings(a: int, b: float) -> Any:
    w = 8
    return f"{a}", f"{a!r:>{w}}|{b:.2f}|{b!s}|{a!a}", f"{a=}", f"{a:0{w}d}{{}}", "%d" % a


ASSERTS: dict[str, Any] = {}
exec(  # as text, because pytest rewrites the `assert` statements of this file
    """
def asserts(a):
    assert a, "a is not zero"
    assert a > 0
    if a > 100:
        raise ValueError(f"{a} is too much") from KeyError("k")
    return a
""",
    ASSERTS,
)


def deletes(a: int) -> Any:
    b = a
    del b
    if a:
        b = 3
    return b


def match_values(v: Any) -> Any:
    match v:
        case 0 | 1:
            return "small"
        case int(n) if n > 100:
            return n
        case "a" | None:
            return "other"
        case [x, y]:
            return x, y
        case [x, *rest, 9]:
            return rest
        case {"k": w, "j": _}:
            return w
        case Point(x=px, y=3):
            return px
        case Box(value, tag="box"):
            return value
        case _:
            return None


def imports() -> Any:
    import os.path as p
    from math import floor, pi as circle

    return p.join("a", "b"), floor(circle)


def default_and_name(a: Any = None) -> Any:
    if a is None:
        a = "none"
    return a if isinstance(a, str) else type(a).__name__


CASES: list[tuple[Callable[..., Any], tuple[Any, ...]]] = [
    *((arithmetic, args) for args in [(7, 2), (2, 5)]),
    *((comparisons, args) for args in [(1, 2), (3, 3), (5, 2)]),
    *((short_circuit, args) for args in [(0, 0), (0, 2), (1, 0), (1, 2)]),
    *((nones, args) for args in [(None, 1), (0, None), (0, 9)]),
    *((loops, args) for args in [(2, [1, 2, 3]), (9, [40, 20, 5, 5, 29]), (5, [100, 200])]),
    *((early_return, args) for args in [([1, 0, 9],), ([0, 0],), ([3],)]),
    *((while_forms, args) for args in [(6,), (0,), (1,), (3,)]),
    *((calls, args) for args in [(1, 5), (0, 9)]),
    (signature, (1,)),
    (signature, (1, 2, 3, 4)),
    (nested, (1, 2)),
    (argument_cell, (4,)),
    *((comprehensions, args) for args in [([1, 2, 3], 4), ([], 1)]),
    (comprehension_walrus, ([1, 2, 3],)),
    (comprehension_cells, ([1, 2, 3], 8)),
    (comprehension_in_a_loop, ([0, 1, 2],)),
    (free_variable_in_comprehension, ([1, 2],)),
    (unpacking, ([1, 2, 3, 4],)),
    (subscripts, ([1, 2, 3, 4],)),
    (strings, (5, 2.5)),
    *((ASSERTS["asserts"], args) for args in [(1,), (0,), (-1,), (101,)]),
    *((deletes, args) for args in [(1,), (0,)]),
    *((match_values, (v,)) for v in [1, 5, 500, "a", None, "z", [1, 2], (1, 5, 6, 9), [1], {"k": 2, "j": 3}, {"j": 1}]),
    *((match_values, (v,)) for v in [Point(4, 3), Point(4, 4), Box(6), Box(6, "lid")]),
    (imports, ()),
    *((default_and_name, args) for args in [(), (3,), ("s",)]),
    (Box.grow, (Box(1), 2)),
    (Named.grow, (Named(1), 2)),
    (Named.with_self_in_a_cell, (Named(1),)),
]


def evaluated(function: Callable[..., Any], *args: Any, **kwargs: Any) -> Any:
    """What a function of compile-time objects returns as the compiler evaluates it, and its arguments afterwards."""

    def kernel(function: Any, given: Any, kwargs: Any) -> Any:
        args = deepcopy(given)
        return function(*args, **kwargs), args

    constants = {"function": Constant(function), "given": Constant(args), "kwargs": Constant(kwargs)}
    asked: list[Any] = []
    build(kernel, constants, {}, {"block": (1, 1, 1), "asked": asked})
    (returned,) = asked
    return returned


@pytest.mark.parametrize(("function", "args"), CASES, ids=[f"{f.__name__}-{n}" for n, (f, _) in enumerate(CASES)])
def test_means_the_same_as_in_python(function: types.FunctionType, args: tuple[Any, ...]) -> None:
    pythons = deepcopy(args)
    try:
        right = function(*pythons)
    except Exception as error:
        with pytest.raises(CompileError) as caught:
            evaluated(function, *args)
        assert isinstance(error, UnboundLocalError) or str(error) in str(caught.value)
    else:
        assert evaluated(function, *args) == (right, pythons)


def test_keywords_of_every_kind() -> None:
    assert evaluated(signature, 1, c=5, z=6)[0] == signature(1, c=5, z=6)


# ---------------------------------------------------------------- the vocabulary itself


def test_one_listing_on_every_version() -> None:
    def f(a: Any, b: int) -> Any:
        if a is None:
            return max(b, key=len).step(-1)
        return a[1:b] or f"{b!r}", +b, {a: b}

    assert [str(instr) for instr in read(f).instrs] == [
        *("LOAD a", "CONST None", "COMPARE is", "JUMP_IF_FALSE -> 12"),
        *("GLOBAL max", "LOAD b", "GLOBAL len", "CALL 1 key=", "ATTR step", "CONST -1", "CALL 1", "RETURN"),
        *("LOAD a", "CONST 1", "LOAD b", "SLICE 2", "SUBSCR", "COPY 1", "JUMP_IF_TRUE -> 23", "POP"),
        *("LOAD b", "CONVERT repr", "FORMAT False"),
        *("LOAD b", "UNARY +", "LOAD a", "LOAD b", "MAP 1", "TUPLE 3", "RETURN"),
    ]


def test_code_knows_its_parameters() -> None:
    code = read(signature)
    assert (code.name, code.positional, code.posonly, code.kwonly) == ("signature", ("a", "b"), 1, ("c",))
    assert (code.varargs, code.varkw, code.parameters) == ("args", "kw", ("a", "b", "c", "args", "kw"))
    assert not code.is_genexpr
    assert (read(match_values).varargs, read(match_values).varkw) == (None, None)


def test_generator_expression_is_flagged_and_yields() -> None:
    def f(xs: list[int]) -> int:
        return sum(x + 1 for x in xs)

    inner = next(i.arg for i in read(f).instrs if isinstance(i.arg, types.CodeType))
    code = read(inner)
    assert code.is_genexpr
    assert code.positional == (".0",)
    assert [i.op for i in code.instrs if i.op in ("YIELD", "FOR_ITER", "RETURN")] == ["FOR_ITER", "YIELD", "RETURN"]


@pytest.mark.skipif(sys.version_info < (3, 12), reason="3.11 makes a function of each comprehension")
def test_comprehension_variables_have_names_of_their_own() -> None:
    stores = {i.arg for i in read(comprehensions).instrs if i.op in ("STORE", "STORE_CELL")}
    assert {"x", "x.1", "x.2", "y.1"} <= stores
    assert {name for name in read(comprehensions).cells if "." in name} == {
        i.arg for i in read(comprehensions).instrs if i.op == "MAKE_CELL" and "." in i.arg
    }


def source_of(instr: Instr) -> str:
    line = instr.span.source()[0]
    return line[instr.span.col : instr.span.end_col].strip() if instr.span.end_line == instr.span.line else line.strip()


def test_spans_are_exact_to_the_column() -> None:
    def f(a: list[int], b: int) -> int:
        return a[b + 1] * max(a)

    found = {str(instr): source_of(instr) for instr in read(f).instrs}
    assert found["BINARY +"] == "b + 1"
    assert found["SUBSCR"] == "a[b + 1]"
    assert found["CALL 1"] == "max(a)"
    assert found["BINARY *"] == "a[b + 1] * max(a)"
    assert {instr.span.function for instr in read(f).instrs} == {"f"}
    assert {instr.span.function for instr in read(Box.grow).instrs} == {"Box.grow"}


# ---------------------------------------------------------------- what cannot be compiled


def uses_try(a: Any) -> Any:
    b = a
    try:
        b = [x for x in a]
    except ValueError:
        return 1
    finally:
        b = a
    return b


def uses_try_in_a_loop(a: Any) -> Any:
    for x in a:
        try:
            x += 1
        finally:
            a = x
    return a


def uses_yield(a: Any) -> Any:
    b = a
    yield b


def uses_yield_from(a: Any) -> Any:
    yield from a


async def uses_async(a: Any) -> Any:
    return a


async def uses_await(a: Any) -> Any:
    b = 1
    return await a + b


def uses_global(a: Any) -> Any:
    global SCALE
    SCALE = a


def uses_nonlocal(a: Any) -> Any:
    def inner() -> None:
        nonlocal a
        a = 1

    return inner()


def uses_class(a: Any) -> Any:
    class Inner:
        x = a

    return Inner


def deletes_item(a: Any) -> Any:
    del a[0]


def deletes_attribute(a: Any) -> Any:
    del a.b


def matches_rest(a: Any) -> Any:
    match a:
        case {"k": _, **rest}:
            return rest


def deletes_captured(a: Any) -> Any:
    f = lambda: a
    del a
    return f


@pytest.mark.parametrize(
    ("function", "syntax", "source"),
    [
        (uses_try, "`try`", "try:"),
        (uses_try_in_a_loop, "`try`", "try:"),
        (uses_yield, "`yield`", "yield b"),
        (uses_yield_from, "`yield`", "yield from a"),
        (uses_async, "`async` and `await`", "async def uses_async(a: Any) -> Any:"),
        (uses_await, "`async` and `await`", "await a"),
        (uses_global, "assigning to a global", "SCALE"),
        (uses_class, "`class` inside a kernel", "class Inner:"),
        (deletes_item, "`del` of an item or attribute", "a[0]"),
        (deletes_attribute, "`del` of an item or attribute", "a.b"),
        (matches_rest, "`**rest` in a pattern", '{"k": _, **rest}' if sys.version_info >= (3, 12) else "_"),
        (deletes_captured, "`del` of a variable that a nested function uses", "a"),
    ],
)
def test_unsupported_syntax_is_named_where_it_stands(function: types.FunctionType, syntax: str, source: str) -> None:
    found = [instr for instr in read(function).instrs if instr.op == "UNSUPPORTED"]
    assert [str(instr.arg) for instr in found] == [syntax]
    assert source_of(found[0]) == source
    text = str(CompileError(found[0].arg, found[0].span))
    assert text.startswith(f"error[unsupported-syntax]: {syntax} cannot be compiled\n")
    assert "\nhelp: " in text


def test_unsupported_syntax_is_an_error_only_when_reached() -> None:
    def f(flag: bool, a: Any) -> Any:
        if flag:
            try:
                a()
            except ValueError:
                return 1
        return 2

    assert evaluated(f, False, None)[0] == 2
    with pytest.raises(CompileError, match="unsupported-syntax"):
        evaluated(f, True, None)


class Noted:
    def __init__(self, name: str, notes: list[str]) -> None:
        self.name, self.notes = name, notes

    def __enter__(self) -> str:
        self.notes.append(f"enter {self.name}")
        return self.name

    def __exit__(self, *args: object) -> None:
        self.notes.append(f"exit {self.name} {args}")


@pytest.mark.parametrize("n", range(4))
def test_with_blocks_begin_and_end_as_python_s(n: int) -> None:
    def f(n: int) -> Any:
        notes: list[str] = []
        with Noted("outer", notes):
            for i in (0, 1, 2):
                with Noted("a", notes) as a, Noted("b", notes):
                    if i == n:
                        break
                    notes.append(a)
                    if n == 3:
                        return notes
            notes.append("behind")
        return notes

    assert evaluated(f, n)[0] == f(n)


def test_nonlocal_write_is_refused_in_the_function_that_does_it() -> None:
    with pytest.raises(CompileError, match="assigning to a `nonlocal`"):
        evaluated(uses_nonlocal, 3)


def test_a_named_expression_is_refused_within_a_generator_expression_at_any_depth() -> None:
    def f(xs: list[int]) -> Any:
        last = 0
        return sum(sum([last := last + x + y for x in xs]) for y in xs)

    def g(xs: list[int]) -> Any:
        last = 0
        rows = [[last := last + x for x in xs] for _ in xs]
        return rows, sum((lambda: [last for x in xs])()[0] for _ in xs)

    with pytest.raises(CompileError, match="`:=` in a generator expression"):
        evaluated(f, [1, 2])
    assert evaluated(g, [1, 2])[0] == g([1, 2])


def test_comprehensions_and_generator_expressions_are_no_try() -> None:
    def f(xs: list[int]) -> Any:
        return [x for x in xs], sum(x for x in xs), {x: [y for y in xs] for x in xs}

    codes = [f.__code__, *(c for c in f.__code__.co_consts if isinstance(c, types.CodeType))]
    assert {i.op for code in codes for i in read(code).instrs}.isdisjoint({"UNSUPPORTED"})
    assert evaluated(f, [1, 2])[0] == f([1, 2])


def test_module_code_is_refused_and_has_no_caret_without_source() -> None:
    instr = read(compile("x = 1", "<nowhere>", "exec")).instrs[0]
    assert str(CompileError(instr.arg, instr.span)).splitlines()[:2] == [
        "error[unsupported-syntax]: a module or class body cannot be compiled",
        " --> <nowhere>:1, in `<module>`",
    ]


@pytest.mark.parametrize("running", [("cpython", (3, 10)), ("cpython", (3, 15)), ("pypy", (3, 11))])
def test_other_pythons_are_refused_by_name(monkeypatch: pytest.MonkeyPatch, running: Any) -> None:
    implementation, version = running
    monkeypatch.setattr(sys, "implementation", types.SimpleNamespace(name=implementation))
    monkeypatch.setattr(sys, "version_info", (*version, 0, "final", 0))
    with pytest.raises(CompileError) as caught:
        read(signature)
    text = str(caught.value)
    assert f"{implementation} {version[0]}.{version[1]}" in text
    assert "CPython 3.11, 3.12, 3.13, 3.14" in text


# ---------------------------------------------------------------- laws over a large body of code


def test_every_instruction_of_this_python_has_a_rule() -> None:
    # The interpreter's own, which no compiled function contains.
    private = {"INTERPRETER_EXIT", "RESERVED", "ENTER_EXECUTOR", "EXIT_INIT_CHECK"}
    # Above 255 are the compiler's pseudo-instructions; only the real ones have a place in `opname`.
    real = {name for name, op in opcode.opmap.items() if op < 256 and not name.startswith("INSTRUMENTED_")}
    assert real - private == bytecode._TABLES[sys.version_info[:2]].keys()


def functions_of(code: types.CodeType) -> Iterator[types.CodeType]:
    yield code
    for constant in code.co_consts:
        if isinstance(constant, types.CodeType):
            yield from functions_of(constant)


def standard_library() -> Iterator[types.CodeType]:
    """Every function of a third of the library's top-level modules; and what these lack in some releases."""
    yield from functions_of(compile("def f(a, b): return {**a, **b}", __file__, "exec"))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for path in sorted(glob.glob(os.path.join(os.path.dirname(os.__file__), "*.py")))[::3]:
            with open(path, "rb") as file:
                yield from functions_of(compile(file.read(), path, "exec"))


def depths(code: Bytecode) -> dict[int, int]:
    """The stack depth before each instruction; fails where two ways disagree or a stack runs out."""
    known = {0: 0}
    pending = [0]
    while pending:
        at = pending.pop()
        instr = code.instrs[at]
        pops, pushes = stack_effect(instr.op, instr.arg)
        assert known[at] >= pops
        behind = known[at] - pops + pushes
        ways = [] if instr.op in ENDS else [(at + 1, behind)]
        if instr.op in JUMPS:
            ways.append((instr.arg, known[at] - 1 if instr.op == "FOR_ITER" else behind))
        for way, depth in ways:
            if way not in known:
                pending.append(way)
            assert known.setdefault(way, depth) == depth
        assert instr.op != "RETURN" or behind == 0
    return known


def test_stack_depths_agree_in_the_standard_library() -> None:
    seen: set[str] = set()
    for pycode in standard_library():
        code = read(pycode)
        where = f"{pycode.co_filename}:{pycode.co_firstlineno}"
        assert depths(code).keys() == set(range(len(code.instrs))), where
        seen |= {instr.op for instr in code.instrs}
        assert all(instr.span.line >= 1 and not instr.op.startswith("_") for instr in code.instrs), where
    assert EFFECTS.keys() - seen <= {
        "MATCH_CLASS",
        "MATCH_KEYS",
        "MATCH_MAPPING",
        "MATCH_SEQUENCE",
        "GET_LEN",
        *(("KEY_MAP",) if sys.version_info >= (3, 14) else ()),
    }


def test_calls_know_their_arity() -> None:
    def f(g: Any) -> Any:
        return g(1, 2, a=3, b=4).h(5, c=6)

    assert [i.arg for i in read(f).instrs if i.op == "CALL"] == [Call(2, ("a", "b")), Call(1, ("c",))]
