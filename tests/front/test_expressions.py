# ruff: noqa
# mypy: ignore-errors
# (the functions to be compiled are odd on purpose)
"""Operators on run-time numbers give what Python's give, in the types that docs/language.md promises."""

import fractions
import math
import operator
import statistics

import ml_dtypes
import numpy as np
import pytest

import cutelite as cl
from cutelite import Tensor
from cutelite.diag import CompileError
from cutelite.front.build import build
from cutelite.ir.types import boolean, f16, f32, f64, i8, i16, i32, i64, u8, u16, u32, u64
from tests.front.differential import SMALL, array, compiled, pairs, run, same, singles, wrapped
from tests.front.lines import built, refusal


def result_type(function, **args):
    """The type of the value that a kernel stores: its last Store's operand."""
    made = build(function, args, {}, {})
    return next(op for op in made.ops() if op.name == "tensor.store").a.type


def test_arithmetic():
    def f(a, b):
        return a + b, a - b, a * b, 3 + a, 3 - a, a * 5, -a, +a, a - 7, abs(a), abs(-a)

    same(f, *pairs())


def test_division_rounds_down_and_modulo_has_the_sign_of_the_divisor():
    def f(a, b):
        d = b if b else 5
        return a // d, a % d, a // 4, a % 4, a // -4, a % -4, a // 3, a % 3, 17 // d, 17 % d, -17 // d, -17 % d

    same(f, *pairs(-9, -8, -3, -1, 0, 1, 2, 7, 8))


def test_divmod_and_pow():
    def f(a, b):
        d = b if b else 3
        q, r = divmod(a, d)
        return q, r, a**2, a**3, a**0, pow(a, 4), divmod(a, 4), (-a) ** 1

    same(f, *pairs())


def test_bits():
    def f(a, b):
        n = b & 7
        return a & b, a | b, a ^ b, ~a, a << n, a >> n, 1 << n, a << 3, a >> 2, -1 >> n, 5 & a, a | 8, True ^ False

    same(f, *pairs(-100, -3, -1, 0, 1, 6, 255))


def test_comparisons():
    def f(a, b):
        return a < b, a <= b, a == b, a != b, a > b, a >= b, 3 < a, a < 3, 3 == a, not a < b, a is None, a is not None

    same(f, *pairs())


def test_bools_are_numbers():
    def f(a, b):
        p, q = a > b, a != 0
        shifted = p << 3, (q << 1 | p) >> p, a << q, 5 >> p, a << True, p << q
        return (
            *shifted,
            p + q,
            p * 3,
            p & q,
            p | q,
            p ^ q,
            p == q,
            p != q,
            -p,
            p and q,
            p or q,
            not p,
            int(p),
            p < q,
            1 + p,
        )

    same(f, *pairs())


def test_floats():
    def f(a, b):
        d = b if b else 0.5
        return a + b, a * b - 2, a / d, a // d, a % d, -a, a**2, abs(a), a < b, 2 * a, 1 / (a * a + 1), a > 0.25

    values = [-2.5, -0.75, 0.0, 1.0, 3.25]
    same(f, *[(a, b) for a in values for b in values], dtype=f64)


def test_true_division_of_integers_is_a_float():
    def kernel(out, a, b):
        out[0] = a / b

    assert result_type(kernel, out=array(f32, 1), a=i32, b=i32) == f32
    assert result_type(kernel, out=array(f64, 1), a=i32, b=i64) == f64
    assert result_type(kernel, out=array(f32, 1), a=i32, b=u32) == f32
    made = build(kernel, {"out": array(f32, 1), "a": i32, "b": i32}, {}, {})
    out = [None]
    run(made, [out, 7, 2])
    assert out == [3.5]


INTS = (i8, i16, i32, i64, u8, u16, u32, u64)


@pytest.mark.parametrize("dtype", INTS)
def test_integers_wrap_at_their_width(dtype):
    def kernel(out, a, b):
        out[0] = a + b
        out[1] = a * b
        out[2] = a - b

    made = build(kernel, {"out": array(dtype, 3), "a": dtype, "b": dtype}, {}, {})
    low, high = dtype.range
    for a, b in [(high, 1), (low, high), (high, high), (low, 1)]:
        out = [None] * 3
        run(made, [out, a, b])
        assert out == [wrapped(x, dtype) for x in (a + b, a * b, a - b)]


def test_literals_take_the_type_of_what_they_meet():
    def kernel(out, a):
        out[0] = a + 1

    for dtype in (*INTS, f16, f32, f64):
        assert result_type(kernel, out=array(dtype, 1), a=dtype) == dtype

    def floats(out, a):
        out[0] = a * 0.5

    assert result_type(floats, out=array(f32, 1), a=i32) == f32
    assert result_type(floats, out=array(f32, 1), a=i64) == f32
    assert result_type(floats, out=array(f16, 1), a=f16) == f16


@pytest.mark.parametrize(
    ("text", "dtype", "message"),
    [
        ("a + 5_000_000_000", i32, "the literal 5000000000 does not fit i32"),
        ("a & 0x1_0000_0000", u32, "the literal 4294967296 does not fit u32"),
        ("a + 10**400", f32, "the literal of 1329 bits does not fit f32, whose largest number is 3.40282e+38"),
        ("10**400 if a > 0 else a", f64, "the literal of 1329 bits does not fit f64"),
        ("a + 10**5000", i32, "the literal of 16610 bits does not fit i32"),
        ("a + 1e39", f32, "does not fit f32, whose largest number is 3.40282e+38"),
        ("a + 70000", f16, "the literal 70000 does not fit f16"),
        ("a % 0", u64, "a division by zero"),
        ("a << -1", i32, "must not be negative"),
        ("a << 1.5", i32, "only integers can be shifted"),
        ("a & 1.5", i32, "`& | ^` take integers and bools, not 1.5"),
        ("~a", f32, "`~` takes integers, not a run-time f32"),
        ("~(a > 0)", i32, "`~` of a bool is not its negation"),
        ("2 ** a", i32, "an integer to a run-time power"),
        ("a[0]", i32, "is one number, without elements"),
        ("a.foo", i32, "a run-time i32 has no attribute `foo`"),
        ("a()", i32, "a run-time i32 cannot be called"),
        ("a + 's'", i32, "`+` is not defined for"),
        ("a is 3", i32, "`is` on run-time numbers"),
        ("a.to(float)", i32, "a dtype is needed here, not the class `float`"),
        ("str(a) + 1", i32, "`+` is not defined for"),
        ("len(a)", i32, "a run-time i32 has no len()"),
        ("list(a)", i32, "a run-time i32 cannot be iterated over"),
        ("[x for x in range(a)]", i32, "the items of this range are known only at run time"),
        ("sum(x for x in range(a))", i32, "the items of this range are known only at run time"),
        ("range(1.5)", i32, "range takes integers, not 1.5"),
        ("range(0, a, 0)", i32, "the step of a range must not be 0"),
    ],
)
@pytest.mark.filterwarnings("ignore::SyntaxWarning")
def test_mistakes(text, dtype, message):
    space = {}
    exec(f"def kernel(out, a):\n    out[0] = {text}\n", space)
    with pytest.raises(CompileError, match="(?s).*") as caught:
        compiled(space["kernel"], out=array(dtype, 4), a=dtype)
    assert message in str(caught.value)


@pytest.mark.parametrize(
    ("two", "half"),
    [
        *((np.int64(2), np.float32(0.5)), (np.array(2), np.array(0.5))),
        *((ml_dtypes.int4(2), ml_dtypes.bfloat16(0.5)), (np.array(2, ml_dtypes.int4), ml_dtypes.float8_e5m2(0.5))),
    ],
)
def test_numpy_numbers_are_literals(two, half):
    def kernel(out, a):
        out[0] = (a + two) * half - two * (half + a)

    made = build(kernel, {"out": array(f32, 1), "a": f32}, {}, {})
    out = [None]
    run(made, [out, 3.0])
    assert out == [(3.0 + 2) * 0.5 - 2 * 3.5]


def test_shift_amounts_of_another_type():
    def kernel(out, a, n):
        out[0] = a << n
        out[1] = i64(1 << n)

    made = build(kernel, {"out": array(i64, 2), "a": i64, "n": u8}, {}, {})
    out = [None] * 2
    run(made, [out, 3, 5])
    assert out == [96, 32]


def test_shift_amounts_that_are_wider_than_the_number():
    @cl.kernel(block=1)
    def kernel(a: Tensor[u8, (2,)], b: Tensor[i8, (2,)], n: i32, out: Tensor[i32, (6,)]):
        out[0] = i32(a[0] << n)
        out[1] = i32(a[0] >> n)
        out[2] = i32(b[0] >> n)
        out[3] = i32(a[0] << np.int64(300)) + i32(a[0] >> np.int64(1))
        v = a.load() << cl.vector(n - 255, n)
        w = a[0] << cl.vector(n - 255, n)
        out[4] = i32(v[0]) + 1000 * i32(v[1])
        out[5] = i32(w[0]) + 1000 * i32(w[1])

    for n in (0, 3, 7, 8, 255, 256, 257, 264, 1 << 20):
        out = np.zeros(6, np.int32)
        kernel[1](np.full(2, 0xC3, np.uint8), np.full(2, -61, np.int8), n, out)
        before, now = (0xC3 << (k & 0xFFFFFFFF) & 255 if (k & 0xFFFFFFFF) < 8 else 0 for k in (n - 255, n))
        assert out.tolist() == [now, 0xC3 >> n, -61 >> n, 0xC3 >> 1, before + 1000 * now, before + 1000 * now]


def test_layouts_multiply_narrow_coordinates_in_32_bits():
    rows, nested = cl.make_layout((50, 400), stride=(400, 1)), cl.make_layout(((2, 3), 400), stride=((3, 7), 1000))

    @cl.kernel(block=32)
    def kernel(x: Tensor[i8, (32,)], out: Tensor[i32, (3, 32)]):
        lane = cl.thread_idx.x
        at = x[lane]
        out[0, lane], out[1, lane] = rows(at, at), nested(at)
        out[2, lane] = cl.idx2crd(at, (3, 2, 300))[1]

    out = np.zeros((3, 32), np.int32)
    kernel[1](np.arange(32, dtype=np.int8), out)
    assert out.tolist() == [[f(i) for i in range(32)] for f in (lambda i: rows(i, i), nested, lambda i: i // 3 % 2)]


def test_int_and_float_widen():
    @cl.kernel(block=1)
    def kernel(a: i8, b: u16, c: u64, x: f16, y: f64, z: Tensor[cl.e4m3, (1,)], out: Tensor[i32, (1,)]):
        assert (type(int(a)), type(int(b)), type(int(c)), type(int(y))) == (i32, i32, u64, i64)
        assert (type(float(x)), type(float(y)), type(float(z[0])), type(float(a))) == (f32, f64, f32, f32)
        out[0] = int(a) * int(a) + (a > 3) ** 0 + (a > 3) ** 2

    out = np.zeros(1, np.int32)
    kernel[1](100, 1, 1, 1.0, 1.0, np.zeros(1, ml_dtypes.float8_e4m3fn), out)
    assert out[0] == 10002


def test_conversions():
    def kernel(out, a, x):
        out[0] = i32(a > 3)
        out[1] = int(x)
        out[2] = i32(i8(a + 200))
        out[3] = int(float(a) * 1.5)
        out[4] = round(x)
        out[5] = i32(bool(a)) + i32(2.9) + i32(u8(-1))
        out[6] = x.to(i32)
        out[7] = int(True) + int("12")
        out[8] = int(round(x, 0) * 4) + round(a, 0) + operator.not_(a) + operator.truth(x)

    made = build(kernel, {"out": array(i32, 9), "a": i32, "x": f32}, {}, {})
    for a, x in [(5, 2.5), (0, -3.75)]:
        out = [None] * 9
        run(made, [out, a, x])
        wanted = [a > 3, int(x), wrapped(a + 200, i8), int(a * 1.5), round(x), bool(a) + 2 + 255, int(x), 13]
        wanted += [int(round(x, 0) * 4) + a + (not a) + bool(x)]
        assert out == wanted


def test_min_max_sum_any_all():
    def f(a, b):
        xs = (a, b, a - b, 3)
        return (
            min(a, b), max(a, b), min(a, 2), max(0, b), min(xs), max(*xs), sum(xs), sum(x * x for x in xs), sum([]),
            sum(xs, 100), any(x > 2 for x in xs), all(x < 7 for x in xs), any(()), all([]), any((a, b)), all((a, 1)),
            max(1, 5, 3), min((4, 2)), max((a, 1), key=lambda v: 0), min([], default=a), max((b,), default=3),
        )  # fmt: skip

    same(f, *pairs())


def test_min_and_max_of_tuples_and_by_keys():
    def f(a, b):
        values, best = (a, b, a * b), (a, 0)
        for i in range(3):
            best = max(best, (b - i * a, i))
        return (
            min((a, b), (b, a)), max([a, 1], [b, 2]), max((a, 0), (b, 1), (2, 2)), best,
            max(a, b, 1, key=lambda x: -x), min((a, b, 5), key=lambda x: x * x), min(a, b, key=abs),
            max((a, 10), (b, 20), key=lambda t: t[0]), min((a, 10), (b, 20), key=lambda t: t[0]),
            max(1, 2, 3, key=lambda x: x * a), max(range(3), key=lambda i: values[i]), max((1, 2, 3), key=lambda x: x % 3),
        )  # fmt: skip

    same(f, *pairs())


def test_membership():
    def f(a, b):
        return (
            a in (1, 2, b), a not in [0, 7], 3 in (1, 2), a in range(3), a in range(-3, 8, 5), a in range(b),
            a not in range(5, -4, -2), "x" in "xyz", 1 in {1: 2}, a in (), b in (a,),
        )  # fmt: skip

    same(f, *pairs())


def test_tuples_compare_item_by_item():
    def f(a, b):
        return (
            (a, b) == (1, 2), (a, b) != (b, a), (a, 1) < (b, 2), (a, b) <= (b, a), (a, 2) > (1, b), [a, b] == [b, a],
            (a,) == (a, b), (a, (b, 1)) == (0, (b, 1)), (a, b) >= (0, 0), (a,) < (a, b),
        )  # fmt: skip

    same(f, *pairs())


def test_walrus():
    def f(a, b):
        n = 0
        if (m := a + b) > 3:
            n = m
        while (n := n + 1) < b:
            m += n
        xs = [y := k + a for k in (1, 2)]
        return n, m, y, xs

    same(f, *pairs())


def test_math_of_known_numbers():
    def f(a):
        return int(math.sqrt(16)) + a, math.gcd(12, 18) * a, int(math.pi * 100)

    same(f, *singles())


@pytest.mark.parametrize(("dtype", "wider"), [(i16, i32), (u16, u32), (u16, i32), (f16, f32), (i8, i64)])
def test_mixed_types_meet_in_the_wider(dtype, wider):
    def kernel(out, a, b):
        out[0] = a + b

    assert result_type(kernel, out=array(wider, 1), a=dtype, b=wider) == wider


def test_bool_arithmetic_is_i32():
    def kernel(out, p, q):
        out[0] = p + q

    assert result_type(kernel, out=array(i32, 1), p=boolean, q=boolean) == i32

    def logic(out, p, q):
        out[0] = p & q

    assert result_type(logic, out=array(boolean, 1), p=boolean, q=boolean) == boolean


def test_types_of_run_time_numbers():
    def kernel(out, a, x):
        out[0] = 1 if type(a) == i32 and type(x) is f32 and isinstance(a, int) and not isinstance(x, int) else 0
        out[1] = isinstance(x, float) + isinstance(a, (f32, i32)) + isinstance(a > 1, bool) + isinstance(a, str)

    made = build(kernel, {"out": array(i32, 2), "a": i32, "x": f32}, {}, {})
    out = [None] * 2
    run(made, [out, 3, 1.5])
    assert out == [1, 3]


def test_attributes_of_pythons_numbers():
    def integers(a):
        ratio = a.as_integer_ratio()
        known = [hasattr(a, name) for name in ("real", "is_integer", "bit_count", "shape_of")]
        return a.real, a.imag, a.conjugate(), a.numerator, a.denominator, a.bit_length(), a.bit_count(), ratio, known

    def floats(a):
        return a.real, a.imag, a.conjugate(), a.is_integer(), hasattr(a, "numerator"), hasattr(a, "conjugate")

    def bools(a):
        return (a > 1).real + (a > 2).bit_length(), getattr(a > 0, "numerator"), getattr(a, "imag", 7)

    same(integers, *singles(*SMALL, 255, -256, 2**31 - 1, -(2**31)))
    same(integers, *singles(*SMALL, 12345678901, 2**63 - 1, -(2**63)), dtype=i64)
    same(floats, *[(x,) for x in (0.0, 1.5, -2.0, 1e30, math.inf, math.nan, -0.25)], dtype=f64)
    same(bools, *singles())


def test_special_methods_of_numbers_by_name():
    def integers(a, b):
        return a.__floor__(), a.__round__(), a.__int__(), a.__divmod__(3), a.__bool__(), (a > b).__int__(), a.__abs__()

    def floats(a):
        return a.__floor__(), a.__ceil__(), a.__trunc__(), a.__round__(), a.__float__(), a.__int__(), a.__bool__()

    same(integers, *pairs())
    same(floats, *[(x,) for x in (0.0, 1.5, -2.0, 2.5, -0.25)], dtype=f64)


def test_counts_of_run_time_numbers():
    def f(a, b):
        return (a, b, 2).count(2), [a, b].count(b), [(a, b), (b, a)].count((a, b)), [1, 2, 2].count(a), [].count(a)

    same(f, *pairs())


def test_angles_and_numbers_that_are_close():
    def f(a, b):
        near = math.isclose(a, b), math.isclose(a, b, rel_tol=0.5), math.isclose(a, b, abs_tol=1), math.isclose(a, a)
        return near, math.degrees(a), math.radians(b)

    numbers = (0.0, 1.5, -2.0, 1.0, 1.0 + 1e-12, math.inf, -math.inf, math.nan)
    same(f, *pairs(*numbers), dtype=f64)


@pytest.mark.parametrize("text", ["statistics.mean([n, 1])", "fractions.Fraction(n, 2)", "statistics.variance((n, 1))"])
def test_exact_arithmetic_needs_known_numbers(text):
    error = refusal(f"o[0] = {text}", statistics=statistics, fractions=fractions)
    assert "takes numbers that are known at compile time" in str(error)


def test_what_only_a_known_number_tells_is_no_attribute_at_run_time():
    def kernel(a, out):
        out[0] = [hasattr(a, "to_bytes"), hasattr(0.5 * a, "hex"), hasattr(0.5 * a, "as_integer_ratio")].count(True)

    out = [7]
    run(compiled(kernel, a=i32, out=array(i32, 1)), [3, out])
    assert out == [0]


def test_dims_stay_expressions_where_they_can():
    from cutelite.layout import Dim

    N, K = Dim("N"), Dim("K", divisible_by=64)

    def kernel(out, x, a):
        n, k = x.shape
        out[0] = n * k + int(n) - k // 2
        out[1] = min(n, 128) + max(n, k)
        q, r = divmod(k, 64)
        out[2] = q + r
        out[3] = 1 if n < n + 1 and k % 64 == 0 and n and not n == 0 and n >= 1 else a
        out[4] = 1 if n > 3 else 2
        out[5] = len(range(0, k, 64)) + n**2 + (n << 1) + abs(n - 5)
        out[6] = i32(n * 0.5 + n / 4) + (a if a > n else n)
        out[7] = i32(sum((n, k, a)) + -n + (n & 3))

    made = build(kernel, {"out": array(i32, 8), "x": array(f32, N, K), "a": i32}, {"N": i32, "K": i32}, {})
    assert len([op for op in made.ops() if op.name == "cond_br"]) == 2  # n > 3, a > n
    for n, k, a in [(1, 64, 3), (6, 640, 2), (200, 128, 1000)]:
        out = [None] * 8
        run(made, [out, [], a], {"N": n, "K": k})
        assert out == [
            n * k + n - k // 2, min(n, 128) + max(n, k), k // 64, 1, 1 if n > 3 else 2,
            k // 64 + n * n + 2 * n + abs(n - 5), int(n * 0.5 + n / 4) + max(a, n), n + k + a - n + (n & 3),
        ]  # fmt: skip


OVER_DIMS = """
    -n // 3; -n % 3; n % -3; n // -3; (n - m) // 3; (m - n) // 4 * 4; (-n - 1) // 2; n * m % 7; n * m // n; 5 // n
    min(n, 5); max(n - m, 0); min(n - 3, m, 2); abs(m - n); n**2; (n - 9)**3; n & 3; n ^ m; ~n; n >> 1; 1 << n % 5
    n != m; n >= m + 1; 3 < n < 10; n == 5 or m == 3; not n - 5; n and m; (n > 3) * n; n in (m, 5); n - 1 in range(3, 9)
    (n, m) < (m, n); max((n, 1), (m, 2))[1]; [n, m][n > m]; (7, 8, 9)[n % 3]; ((1, n), (m, 2))[m % 2][0]
    len(range(n, 0, -2)); round(n / 3); int(n / m * 10); divmod(n - 9, m)[1]; (4 * n - 1) // 4; (n * 8 + m % 8) // 8
    x[n - 1]; x[(n - 1) % n]; min(n, x[0]); (n, x[0]) < (m, 3); divmod(x[0] - 9, n)[0]; x[0] // -n; [n, m, 4][x[0] % 3]
    n.real - m.imag; n.numerator * m.denominator; n.conjugate(); (n * 7).bit_length(); (n - 5).bit_count()
    n.as_integer_ratio()[0]; hasattr(n, "numerator") + hasattr(m, "bit_count")
"""


def test_expressions_over_dims_are_what_python_computes_of_the_extents():
    from cutelite.layout import Dim

    rows = [row.strip() for line in OVER_DIMS.strip().splitlines() for row in line.split(";")]
    space = {"i32": cl.i32}
    body = "".join(f"    out[{i}] = i32({row})\n" for i, row in enumerate(rows))
    exec(f"def kernel(out, x, y):\n    n, m = x.shape[0], y.shape[0]\n{body}", space)
    types = {"out": array(i32, len(rows)), "x": array(i32, Dim("N")), "y": array(i32, Dim("M"))}
    made = build(space["kernel"], types, {"N": i32, "M": i32}, {})
    for n, m in [(5, 3), (3, 5), (1, 1), (8, 2), (7, 7)]:
        out, x = [None] * len(rows), [3 * i + 4 for i in range(n)]
        run(made, [out, x, [0] * m], {"N": n, "M": m})
        assert dict(zip(rows, out)) == {row: int(eval(row, {"n": n, "m": m, "x": x})) for row in rows}


@pytest.mark.parametrize(
    ("line", "label"),
    [
        ("sorted((n, 3))", "the dim N"),
        ("'abc'[n]", "the dim N"),
        ("(1, 2)[:n]", "the dim N"),
        ("math.gcd(n + 1, 4)", "N+1"),
    ],
)
def test_a_dim_where_python_needs_a_number(line, label):
    from cutelite.layout import Dim

    space = {"math": math}
    exec(f"def kernel(x):\n    n = x.shape[0]\n    {line}\n", space)
    with pytest.raises(CompileError) as caught:
        build(space["kernel"], {"x": array(i32, Dim("N"))}, {"N": i32}, {})
    assert "a number known at compile time is needed here" in str(caught.value)
    assert f"this is {label}" in str(caught.value)


def test_functions_of_pythons_math_take_run_time_numbers_where_ours_do():
    from cutelite.front.builtins import MATH

    ours = {name for name in dir(math) if getattr(getattr(cl.math, name, None), "__module__", "") == cl.math.__name__}
    assert ours == set(MATH) - {"gamma"}

    @cl.kernel
    def some(x: cl.Tensor[cl.f64, (4,)], out: cl.Tensor[cl.f64, (4, 4)]) -> None:
        i = cl.thread_idx.x
        whole = math.modf(x[i])
        found = (math.log(x[i], 2), math.gamma(x[i]), whole[0] * 8 + whole[1], math.ldexp(*math.frexp(x[i])))
        for row, value in enumerate(found):
            out[row, i] = value

    x, out = np.array([0.5, 1.5, 2.75, 6.0]), np.zeros((4, 4))
    some[1, 4](x, out)
    want = [[math.log(v, 2), math.gamma(v), v % 1 * 8 + v // 1, v] for v in x]
    np.testing.assert_allclose(out.T, want, rtol=1e-13)


@pytest.mark.parametrize(
    "line",
    [
        "a.dtype == np.float32",
        "np.dtype('float32') == a.dtype",
        "a.dtype is np.float32",
        "type(x) is np.float32",
        "not a.dtype == np.int32 and a.dtype != np.float64",
        "a.dtype in (np.float16, np.float32) and a.dtype not in {np.int32}",
        "np.int32 in (a.dtype, o.dtype)",
        "cl.bf16 == ml_dtypes.bfloat16 and np.dtype(ml_dtypes.float8_e4m3fn) == cl.e4m3",
        "not a.dtype == 'float32' and not a.dtype == np.float32(1.0)",
    ],
)
def test_a_dtype_equals_that_of_numpy(line):
    """It never does to Python, which would take the other path without a word."""
    built(f"assert {line}", ml_dtypes=ml_dtypes)
