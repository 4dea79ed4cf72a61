# ruff: noqa
# mypy: ignore-errors
"""f-strings, print and printf; assertions.

PYTEST_DONT_REWRITE: the assertions in here are compiled.
"""

from dataclasses import dataclass
from typing import Any

import numpy as np
import pytest

import cutelite as cl
from cutelite import sim
from cutelite.diag import CompileError
from cutelite.front.build import build
from cutelite.ir.types import boolean, f32, i8, i32, i64, u8, u32, u64
from cutelite.ir.verifier import verify
from cutelite.layout import dims
from tests.front.differential import array, run

N = dims("N")


def printed(function, *args, types, dims=None):
    """What a kernel of one thread prints."""
    made = build(function, types, {name: i32 for name in dims or {}}, {"block": (1, 1, 1)})
    verify(made)
    return sim.run(made, 1, list(args), dims=dims or {}).stdout


def test_f_strings_become_printf():
    def kernel(a, x, p):
        cl.printf(
            f"a = {a}, twice {a * 2:5d}|{a:<5}|{a:+}|{a:03}|{a:#x}, x = {x:.2f} {x:e} {x:8.3g}, {p}, 100% {'static'!r}\n"
        )
        cl.printf("plain %d\n", a)
        print("items", a, x, sep=", ", end="!\n")
        print(f"{a}" + " and " + str(x), "known", 3, sep=None, end=None, file=None)
        print("sum", x, sep=f" {a}% ", end=f" of {a}%\n")
        print(f"{a=}, {x = :.1f}, {(a, x)!s}, {cl.Layout((2, 3))=}")
        cl.printf("{} of {:.2f}, {{}} {}", a, x, (1, x))
        cl.printf("{1:>4d}|{0} 100\n", "half", a)
        cl.printf("{}", "50%")

    text = printed(kernel, 42, 1.5, True, types={"a": i32, "x": f32, "p": boolean})
    assert text == (
        "a = 42, twice    84|42   |+42|042|0x2a, x = 1.50 1.500000e+00      1.5, 1, 100% 'static'\n"
        "plain 42\nitems, 42, 1.5!\n42 and 1.5 known 3\nsum 42% 1.5 of 42%\n"
        "a=42, x = 1.5, (42, 1.5), cl.Layout((2, 3))=(2,3):(1,2)\n"
        "42 of 1.50, {} (1, 1.5)\n  42|half 100\n50%\n"
    )


def test_more_numbers_than_a_call_of_printf_takes_are_printed_by_several():
    def kernel(a):
        print("100% of", *[a + i for i in range(70)], "end", flush=True)

    made = build(kernel, {"a": i32}, {}, {"block": (1, 1, 1)})
    assert [len(op.args) for op in made.ops() if op.name == "printf"] == [32, 32, 6]
    assert printed(kernel, 1, types={"a": i32}) == f"100% of {' '.join(map(str, range(1, 71)))} end\n"


def test_numbers_of_all_widths():
    def kernel(a, b, c, d):
        print(a, b, c, d, f"{d:x}")
        print(f"{a:-5}|{b:-5d}|{b:+}|{b: d}|{b:<+6}|{c:+}|")  # "-" is Python's default, and signs of unsigned numbers

    text = printed(kernel, -5, 250, -(2**40), 2**63, types={"a": i8, "b": u8, "c": i64, "d": u64})
    assert text == f"-5 250 {-(2**40)} {2**63} {2**63:x}\n   -5|  250|+250| 250|+250  |{-(2**40)}|\n"


def test_dims_print_their_value():
    def kernel(a):
        print(f"{a.shape[0]} and {a.size + 1}", a.shape, [a.shape[0], "x"])

    text = printed(kernel, np.zeros(5, np.float32), types={"a": array(f32, N)}, dims={"N": 5})
    assert text == "5 and 6 (5,) [5, 'x']\n"


def test_messages_at_compile_time_name_dims():
    def kernel(a, n):
        if a.shape[0] != 2 * a.shape[0]:
            raise ValueError(f"{a.shape[0]} of {a.shape}, {n}")

    with pytest.raises(CompileError) as caught:
        build(kernel, {"a": array(f32, N), "n": i32}, {"N": i32}, {})
    assert "ValueError: N of (N,), {i32}" in str(caught.value)


@dataclass(frozen=True)
class State:
    index: Any


@pytest.mark.parametrize(
    ("body", "message"),
    [
        ("cl.printf(f'{a:b}')", "the format spec 'b' has no counterpart on the GPU"),
        ("cl.printf(f'{a:^5}')", "has no counterpart on the GPU"),
        ("print('a\\0b', a)", "the text has a zero character, at which C's printf would end"),
        ("text = f'{a}'; cl.printf(f'{text!r}')", "`!r` needs a compile-time value"),
        ("cl.printf(f'{x:d}')", "the format 'd' is for integers, not for f32"),
        ("cl.printf(f'{x:{a}}')", "a format spec must be known at compile time"),
        ("print(cl.thread_idx, a, object, State(a))", "a State cannot be printed"),
        ("cl.printf('%d' % a)", "this text would hold run-time numbers"),
        ("cl.printf('{}'.format(a))", "this text would hold run-time numbers"),
        ("cl.printf('{} {}', a)", "the field {} of the format names none of the values"),
        ("cl.printf('{}', a, x)", "the format has 1 fields, and 2 values follow it"),
        ("cl.printf('{', a)", "'{' is no format"),
        ("cl.printf(a)", "printf takes a text known at compile time"),
        ("y = {f'{a}': 1}[f'{a}']", "keys and members of sets are told apart"),
        ("cl.assert_(a > 0, f'{a}')", "a text with run-time numbers in it"),
        ("cl.assert_(cl.make_rmem_tensor(cl.f32, (2,)))", "is neither true nor false"),
    ],
)
def test_mistakes(body, message):
    space = {"cl": cl, "State": State}
    exec(f"def kernel(a, x):\n    {body}\n", space)
    with pytest.raises(CompileError) as caught:
        build(space["kernel"], {"a": i32, "x": f32}, {}, {})
    assert message in str(caught.value)


def asserting(out, a):
    assert a != 3
    assert 0 <= a < 10, "a is out of range"
    if a == 5:
        assert False, "five"
    out[0] = a


def names(function):
    return [op.name for op in function.ops()]


def test_assertions_are_compiled_where_they_are_enabled():
    enabled = build(asserting, {"out": array(i32, 1), "a": i32}, {}, {"assertions": True})
    disabled = build(asserting, {"out": array(i32, 1), "a": i32}, {}, {"assertions": False})
    verify(enabled), verify(disabled)
    assert names(enabled).count("assert.fail") >= 3
    assert "assert.fail" not in names(disabled)
    assert "cond_br" not in names(disabled)
    for a in (1, 3, 5, 12, -1):
        out = [None]
        if a in (1,):
            run(enabled, [out, a])
            assert out == [a]
        else:
            with pytest.raises(sim.SimError):
                run(enabled, [out, a])


def test_an_assertion_changes_nothing_behind_it():
    def kernel(out, a):
        xs = []
        assert a > 0
        xs.append(1)
        for k in (1, 2):
            assert a > k, f"{a} <= {k}"
            xs.append(k)
        out[0] = len(xs)

    made = build(kernel, {"out": array(i32, 1), "a": i32}, {}, {"assertions": True})
    verify(made)
    out = [None]
    run(made, [out, 5])
    assert out == [3]


def test_failed_assertions_say_so_in_the_simulator():
    def kernel(a):
        assert a < 3, f"a is {a}"

    made = build(kernel, {"a": i32}, {}, {"block": (1, 1, 1), "assertions": True})
    with pytest.raises(sim.SimError) as caught:
        sim.run(made, 1, [7], dims={})
    assert "assert a < 3" in str(caught.value)
