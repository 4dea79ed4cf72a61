"""The mathematics of `cl.math`: the errors that its docstrings state, and the special cases of C."""

import inspect
import math as python_math
import re
from collections.abc import Callable
from fractions import Fraction
from typing import Any

import numpy as np
import pytest

from cutelite.diag import CompileError
from cutelite.ir.builder import Builder
from cutelite.ir.contract import numpy_dtype
from cutelite.ir.types import Scalar, Vec, bf16, e4m3, f16, f32, f64, i32, i64, u8
from cutelite.lang import math
from cutelite.lang.straight import evaluate

pytestmark = pytest.mark.filterwarnings("ignore::RuntimeWarning")
RANDOM = np.random.default_rng(0)
INF, NAN = np.inf, np.nan

UNARY: dict[str, tuple[Callable[[Any], Any], tuple[float, float]]] = {
    "sqrt": (np.sqrt, (0, 99)),
    "rsqrt": (lambda x: 1 / np.sqrt(x), (0, 99)),
    "rcp": (lambda x: 1 / x, (-9, 9)),
    "cbrt": (np.cbrt, (-99, 99)),
    "exp": (np.exp, (-100, 90)),
    "exp2": (np.exp2, (-150, 130)),
    "expm1": (np.expm1, (-20, 20)),
    "log": (np.log, (0, 3)),
    "log2": (np.log2, (0, 3)),
    "log10": (np.log10, (0, 3)),
    "log1p": (np.log1p, (-1, 3)),
    "sin": (np.sin, (-30, 30)),
    "cos": (np.cos, (-30, 30)),
    "tan": (np.tan, (-30, 30)),
    "asin": (np.arcsin, (-1, 1)),
    "acos": (np.arccos, (-1, 1)),
    "atan": (np.arctan, (-4, 4)),
    "sinh": (np.sinh, (-5, 5)),
    "cosh": (np.cosh, (-5, 5)),
    "tanh": (np.tanh, (-3, 3)),
    "asinh": (np.arcsinh, (-5, 5)),
    "acosh": (np.arccosh, (1, 5)),
    "atanh": (np.arctanh, (-1, 1)),
    "erf": (np.vectorize(python_math.erf), (-5, 5)),
    "erfc": (np.vectorize(python_math.erfc), (-5, 27)),
    "floor": (np.floor, (-9, 9)),
    "ceil": (np.ceil, (-9, 9)),
    "trunc": (np.trunc, (-9, 9)),
    "rint": (np.rint, (-9, 9)),
    "round": (
        lambda x: np.copysign(np.where(np.abs(x) - np.trunc(np.abs(x)) >= 0.5, 1, 0) + np.trunc(np.abs(x)), x),
        (-9, 9),
    ),
    "fabs": (np.abs, (-9, 9)),
}
"""The truth, in more digits than the type has, and where most of the interesting arguments are."""

LONG = np.longdouble
PI = LONG("3.14159265358979323846264338327950288")


def of_turns(function: Callable[[Any], Any]) -> Callable[[Any], Any]:
    """A trigonometric function of pi times its argument: whole turns taken away, as C and IEEE 754 have zeros."""

    def of(x: Any) -> Any:
        rest = np.asarray(x - 2 * np.rint(x / 2))
        quarters = np.rint(rest * 2)
        exact = rest * 2 == quarters
        result = function(rest.astype(LONG) * PI)
        whole = np.copysign(np.where(quarters % 2 == 0, np.rint(result) * 0, 1), x if function is np.sin else 1)
        corner = np.where(np.rint(result) == 0, np.abs(whole) * 0, np.rint(result))
        corner = np.copysign(corner, x) if function is np.sin else corner
        corner = np.where((np.rint(result) != 0) & exact, np.rint(result), corner)
        return np.where(exact, corner, result)

    return of


def scaled_erfc(x: Any) -> Any:
    """erfcx in long double: for x < 2 by the series of erf, beyond by its continued fraction."""
    x = np.asarray(x, LONG)
    square, total, term = x * x, LONG(0), np.clip(x, -12, 2)
    for n in range(400):
        total, term = total + term, term * 2 * np.minimum(square, 144) / (2 * n + 3)
    series = np.exp(square) - 2 / np.sqrt(PI) * total
    below = np.maximum(x, 2)
    for n in range(200, 0, -1):
        below = np.maximum(x, 2) + LONG(n) / 2 / below
    return np.where(
        np.isnan(x), x, np.where(x < -11, 2 * np.exp(square), np.where(x < 2, series, 1 / np.sqrt(PI) / below))
    )


def normal(x: Any) -> Any:
    """The distribution function of the normal distribution in long double."""
    x = np.asarray(x, LONG)
    size = np.minimum(np.abs(x), 200)
    rest = np.exp(-size * size / 2) * scaled_erfc(size / np.sqrt(LONG(2))) / 2
    return np.where(np.isnan(x), x, np.where(x > 0, 1 - rest, rest))


SPECIAL: dict[str, tuple[Callable[[Any], Any], tuple[float, float]]] = {
    "rcbrt": (lambda x: 1 / np.cbrt(x), (-99, 99)),
    "exp10": (lambda x: LONG(10) ** x, (-50, 40)),
    "sinpi": (of_turns(np.sin), (-9, 9)),
    "cospi": (of_turns(np.cos), (-9, 9)),
    "erfcx": (scaled_erfc, (-9, 40)),
    "normcdf": (normal, (-40, 9)),
    "logb": (lambda x: np.floor(np.log2(np.abs(x))), (-9, 9)),
}
"""As `UNARY`; each truth in long double."""

BINARY: dict[str, Callable[[Any, Any], Any]] = {
    "hypot": np.hypot,
    "pow": np.power,
    "atan2": np.arctan2,
    "fmod": np.fmod,
    "copysign": np.copysign,
}

MORE = np.finfo(np.longdouble).nmant >= 63  # where long double is no more than double, f64 cannot be judged


def bound(name: str, t: Scalar) -> float:
    """The error in ulp that the docstring states; 0 where it says exact."""
    text = inspect.getdoc(getattr(math, name)) or ""
    found = re.search(r"\bError:? +([\d.]+) ulp(?: \(f64 ([\d.]+)\))?", text)
    if found is None:
        assert "Exact" in text, f"the docstring of {name} states no error"
        return 0.0
    return float(found[2] if t == f64 and found[2] else found[1])


def any_bits(t: Scalar, count: int) -> Any:
    dtype = numpy_dtype(t)
    return RANDOM.integers(0, np.iinfo(f"u{t.bytes}").max, count, f"u{t.bytes}", endpoint=True).view(dtype)


def arguments(t: Scalar, low: float, high: float, count: int) -> Any:
    special = [
        0.0,
        -0.0,
        1,
        -1,
        0.5,
        2,
        INF,
        -INF,
        NAN,
        np.finfo(numpy_dtype(t)).max,
        np.finfo(numpy_dtype(t)).tiny / 8,
    ]
    uniform = RANDOM.uniform(low, high, count)
    near_zero = RANDOM.normal(0, 1, count) * 2.0 ** RANDOM.integers(-30, 2, count)
    chosen = np.concatenate([special, uniform, near_zero]).astype(numpy_dtype(t))
    return np.concatenate([chosen, any_bits(t, count)])


def judge(name: str, t: Scalar, got: Any, truth: Any, *given: Any) -> None:
    """Fail with the worst arguments unless the results are within the stated error of the truth."""
    dtype = got.dtype
    rounded = truth.astype(dtype)
    fits = (got == rounded) & (np.signbit(got) == np.signbit(rounded)) | np.isnan(got) & np.isnan(rounded)
    spacing = np.spacing(np.maximum(np.abs(rounded), np.finfo(dtype).tiny)).astype(truth.dtype)
    error = np.where(fits, 0, np.abs(got.astype(truth.dtype) - truth) / spacing)
    error = np.where(~fits & (got == rounded), INF, error)  # zeros of the other sign
    error = np.where(np.isfinite(error), error, np.where(fits, 0, INF)).astype(np.float64)
    worst = int(np.argmax(error))
    allowed = bound(name, t) + (0.6 if name in ("erf", "erfc") and t == f64 else 1e-3)  # the truth is a double there
    arguments = [x[worst] for x in given]
    assert error[worst] <= allowed, f"{name}{arguments} = {got[worst]!r}, not {truth[worst]!r}: {error[worst]:.2f} ulp"


@pytest.mark.skipif(not MORE, reason="needs a long double with more digits than a double")
@pytest.mark.parametrize("t", [f32, f64], ids=str)
@pytest.mark.parametrize("name", SPECIAL)
def test_errors_of_special_functions(name: str, t: Scalar) -> None:
    function, where = SPECIAL[name]
    x = arguments(t, *where, 2000 if t == f32 else 300)
    if name == "logb":
        x = np.concatenate([x, np.spacing(np.array([0, 1], x.dtype))])
    judge(name, t, evaluate(getattr(math, name), (t,), x), np.asarray(function(x.astype(LONG)), LONG), x)


@pytest.mark.skipif(not MORE, reason="needs a long double with more digits than a double")
@pytest.mark.parametrize("t", [f32, f64], ids=str)
def test_hypot_of_more_numbers(t: Scalar) -> None:
    x, y = pairs(t, 800)
    z = RANDOM.permutation(x)
    wide = [np.asarray(v, LONG) for v in (x, y, z)]
    truth = np.sqrt(sum(v * v for v in wide))
    nan, infinite = np.isnan(truth), sum(np.isinf(v) for v in wide) > 0
    judge("hypot", t, evaluate(math.hypot, (t, t, t), x, y, z), np.where(nan & infinite, INF, truth), x, y, z)
    judge("rhypot", t, evaluate(math.rhypot, (t, t, t), x, y, z), np.where(nan & infinite, 0, 1 / truth), x, y, z)
    two = np.hypot(*wide[:2])
    judge("rhypot", t, evaluate(math.rhypot, (t, t), x, y), np.where(np.isinf(two), 0, 1 / two), x, y)


@pytest.mark.skipif(not MORE, reason="needs a long double with more digits than a double")
@pytest.mark.parametrize("t", [f32, f64], ids=str)
@pytest.mark.parametrize(("name", "scale"), [("erfcinv", 2), ("normcdfinv", 1)])
def test_quantiles_are_inverses(name: str, scale: int, t: Scalar) -> None:
    dtype = numpy_dtype(t)
    least = -44 if t == f32 else -320
    p = np.concatenate([RANDOM.uniform(0, scale, 80), 10.0 ** RANDOM.uniform(least, 0, 60), [scale / 2]])
    p = p.astype(dtype)
    p = p[(p > 0) & (p < scale)]
    x = evaluate(getattr(math, name), (t,), p)
    wide, root = x.astype(LONG), np.sqrt(LONG(2))
    z = -wide / root if name == "normcdfinv" else wide  # erfc(z) = 2 p or p
    target, size = p.astype(LONG) * 2 / scale, np.abs(z)
    rest = np.where(z > 0, target, 2 - target)
    near = 1 - rest - (1 - scaled_erfc(size) * np.exp(-size * size))
    off = np.where(size < 0.3, near * np.exp(size * size), scaled_erfc(size) - np.exp(size * size + np.log(rest)))
    step = off * np.sqrt(PI) / 2 * (root if name == "normcdfinv" else 1)
    error = np.abs(step) / np.spacing(np.abs(x))
    error = np.where((x == 0) & (step == 0), 0, error)
    worst = int(np.argmax(error))
    assert error[worst] <= bound(name, t), f"{name}({p[worst]!r}) = {x[worst]!r} is {error[worst]} ulp off"
    ends = evaluate(getattr(math, name), (t,), np.array([0, scale, scale / 2, -1, 3, NAN], dtype))
    sign = -1 if name == "normcdfinv" else 1
    assert ends[:3].tolist() == [sign * INF, -sign * INF, 0] and np.isnan(ends[3:]).all()


@pytest.mark.parametrize("t", [f16, bf16, f32, f64], ids=str)
def test_numbers_taken_apart(t: Scalar) -> None:
    dtype = numpy_dtype(t)
    x = np.concatenate([any_bits(t, 3000), np.array([0, -0.0, 1, 0.5, -3.75, INF, -INF, NAN]).astype(dtype)])
    with np.errstate(all="ignore"):
        wide = x.astype(np.float64)
        fraction, n = evaluate(math.frexp, (t,), x)
        truth, power = np.frexp(wide)
        finite = np.isfinite(wide)
        assert same(fraction, np.where(finite, truth, wide)) and n.dtype == np.int32
        assert np.array_equal(n, np.where(finite, power, 0))
        part, whole = evaluate(math.modf, (t,), x)
        assert same(part, np.where(np.isinf(wide), np.copysign(0, wide), np.modf(wide)[0])) and same(
            whole, np.modf(wide)[1]
        )
        least, most = np.iinfo(np.int32).min, np.iinfo(np.int32).max
        other = np.where(np.isinf(wide), most, np.where((wide == 0) | np.isnan(wide), least, power - 1))
        assert np.array_equal(evaluate(math.ilogb, (t,), x), other)


def same(got: Any, truth: Any) -> bool:
    """Tell whether floats are equal, signs of zeros and NaN included."""
    rounded = np.asarray(truth).astype(got.dtype)
    signs = np.signbit(got.astype(np.float64)) == np.signbit(rounded.astype(np.float64))
    return bool((((got == rounded) & signs) | (np.isnan(got) & np.isnan(rounded))).all())


@pytest.mark.parametrize("t", [f16, bf16, f32, f64], ids=str)
def test_the_next_number(t: Scalar) -> None:
    dtype = numpy_dtype(t)
    x, y = any_bits(t, 2000), any_bits(t, 2000)
    ends = np.array([0, -0.0, 1, INF, -INF, NAN, np.finfo(np.float16).tiny]).astype(dtype)
    x = np.concatenate([x, np.repeat(ends, len(ends)), x[:50]])
    y = np.concatenate([y, np.tile(ends, len(ends)), x[:50]])
    got = evaluate(math.nextafter, (t, t), x, y)
    assert got.dtype == x.dtype and same(got, np.nextafter(x, y))


@pytest.mark.parametrize("t", [f32, f64], ids=str)
def test_remquo_and_fdim(t: Scalar) -> None:
    x, y = pairs(t, 600)
    x, y = np.concatenate([x, any_bits(t, 50)]), np.concatenate([y, any_bits(t, 50)])
    rest, quotient = evaluate(math.remquo, (t, t), x, y)
    valid = np.isfinite(x) & (y != 0) & ~np.isnan(y)
    for a, b, r, q, ok in zip(x, y, rest, quotient, valid, strict=True):
        if not ok:
            assert np.isnan(r) and q == 0
            continue
        true = python_math.remainder(float(a), float(b))
        whole = 0 if np.isinf(b) else round((Fraction(float(a)) - Fraction(true)) / Fraction(float(b)))
        assert r == true and q == abs(whole) % 8 * (-1 if whole < 0 else 1), (a, b)
    assert same(evaluate(math.fdim, (t, t), x, y), np.where(np.isnan(x) | np.isnan(y), NAN, np.where(x > y, x - y, 0)))


@pytest.mark.parametrize("name", UNARY)
def test_errors_of_f32(name: str) -> None:
    function, where = UNARY[name]
    x = arguments(f32, *where, 60_000 if name not in ("erf", "erfc") else 15_000)
    judge(
        name, f32, evaluate(getattr(math, name), (f32,), x), np.asarray(function(x.astype(np.float64)), np.float64), x
    )


@pytest.mark.skipif(not MORE, reason="needs a long double with more digits than a double")
@pytest.mark.parametrize("name", UNARY)
def test_errors_of_f64(name: str) -> None:
    function, where = UNARY[name]
    x = arguments(f64, *where, 800)
    judge(
        name,
        f64,
        evaluate(getattr(math, name), (f64,), x),
        np.asarray(function(x.astype(np.longdouble)), np.longdouble),
        x,
    )


def pairs(t: Scalar, count: int) -> tuple[Any, Any]:
    """All pairs of special numbers, any bits, and numbers near 1 with large ones."""
    special = np.array([0.0, -0.0, 1, -1, 2, -2, 0.5, -0.5, 3, -3, INF, -INF, NAN, 1e-30, 1e30, 1e9, -1e9]).astype(
        numpy_dtype(t)
    )
    x, y = np.repeat(special, len(special)), np.tile(special, len(special))
    near = RANDOM.uniform(0.5, 2, count).astype(x.dtype), RANDOM.uniform(-90, 90, count).astype(x.dtype)
    wide = np.exp(RANDOM.uniform(-40, 40, count)).astype(x.dtype), RANDOM.uniform(-2, 2, count).astype(x.dtype)
    whole = RANDOM.normal(0, 9, count).astype(x.dtype), RANDOM.integers(-9, 9, count).astype(x.dtype)
    bits = any_bits(t, count), any_bits(t, count)
    columns = zip((x, y), near, wide, whole, bits, strict=True)
    first, second = (np.concatenate(column) for column in columns)
    return first, second


@pytest.mark.parametrize("name", BINARY)
@pytest.mark.parametrize("t", [f32, f64], ids=str)
def test_errors_of_two_arguments(name: str, t: Scalar) -> None:
    if t == f64 and not MORE:
        pytest.skip("needs a long double with more digits than a double")
    x, y = pairs(t, 20_000 if t == f32 else 600)
    wide = np.float64 if t == f32 else np.longdouble
    truth = np.asarray(BINARY[name](x.astype(wide), y.astype(wide)), wide)
    judge(name, t, evaluate(getattr(math, name), (t, t), x, y), truth, x, y)


@pytest.mark.parametrize("t", [f32, f64], ids=str)
def test_ldexp_rounds_once(t: Scalar) -> None:
    x = np.concatenate([any_bits(t, 4000), np.array([1, -0.0, INF, NAN]).astype(numpy_dtype(t))])
    n = RANDOM.integers(-2200, 2200, len(x)).astype(np.int32) // (8 if t == f32 else 1)
    got = evaluate(math.ldexp, (t, i32), x, n)
    with np.errstate(all="ignore"):
        truth = np.ldexp(x.astype(np.float64), n).astype(x.dtype)  # of an f32, exact before it is rounded
    assert np.array_equal(got, truth, equal_nan=True)


def test_fma_rounds_once_and_takes_literals_anywhere() -> None:
    x = np.array([1 + 2.0**-12, 1e30], np.float32)
    assert evaluate(lambda a: math.fma(a, a, -1.0), (f32,), x).tolist() == [np.float32(2.0**-11 + 2.0**-24), INF]
    assert evaluate(lambda a: math.fma(2, 3.0, a), (f32,), x)[0] == np.float32(7 + 2.0**-12)
    assert evaluate(lambda a, b: math.fma(a, b, 1), (f32, f64), x, x.astype(np.float64)).dtype == np.float64
    assert math.fma(2.0, 3.0, 4.0) == 10.0


def test_extremes_pass_nan_on() -> None:
    x, y = np.array([1, NAN, -0.0], np.float32), np.array([2, 1, 0], np.float32)
    low, high = evaluate(math.minimum, (f32, f32), x, y), evaluate(math.maximum, (f32, f32), x, y)
    assert low[0] == 1 and np.isnan(low[1]) and np.signbit(low[2])
    assert high[0] == 2 and np.isnan(high[1]) and not np.signbit(high[2])


def test_remainder_and_signbit_and_saturate() -> None:
    x = np.array([5.5, -5.5, -0.0, NAN], np.float32)
    assert evaluate(lambda a: math.remainder(a, 2.0), (f32,), x)[:2].tolist() == [-0.5, 0.5]
    assert evaluate(math.signbit, (f32,), x)[:3].tolist() == [False, True, True]
    assert evaluate(math.saturate, (f32,), x).tolist() == [1, 0, 0, 0]
    assert evaluate(math.isfinite, (f32,), x).tolist() == [True, True, True, False]


def test_sincos_is_sin_and_cos() -> None:
    x = arguments(f32, -9, 9, 1000)
    sine, cosine = evaluate(math.sincos, (f32,), x)
    assert sine.tobytes() == evaluate(math.sin, (f32,), x).tobytes()
    assert np.array_equal(cosine, evaluate(math.cos, (f32,), x), equal_nan=True)


FAST = ("sqrt", "rsqrt", "rcp", "exp", "exp2", "log", "log2", "log10", "sin", "cos", "tan", "tanh")


@pytest.mark.parametrize("name", FAST)
def test_fast_forms_are_hardware_instructions_near_the_truth(name: str) -> None:
    x = RANDOM.uniform(0.1, 3, 1000).astype(np.float32)
    seen: list[str] = []
    got = evaluate(lambda a: _watched(lambda: getattr(math, name)(a, fast=True), seen), (f32,), x)
    truth = UNARY[name][0](x.astype(np.float64))
    assert (np.abs(got - truth) <= 2e-6 * np.maximum(1, np.abs(truth))).all()
    assert any(op.endswith(".approx") for op in seen) and len(seen) <= 4
    assert "Fast" in (inspect.getdoc(getattr(math, name)) or "")


def _watched(body: Callable[[], Any], seen: list[str]) -> Any:
    result = body()
    builder = Builder.current()
    assert builder is not None
    seen += [op.name for op in builder.block.ops if op.name != "const"]
    return result


def test_fast_of_f64_is_accurate_and_of_f16_native() -> None:
    x = RANDOM.uniform(-2, 2, 100)
    assert np.array_equal(evaluate(lambda a: math.exp(a, fast=True), (f64,), x), evaluate(math.exp, (f64,), x))
    seen: list[str] = []
    half = x.astype(np.float16)
    got = evaluate(lambda a: _watched(lambda: math.exp2(a, fast=True), seen), (f16,), half)
    assert seen == ["ex2.approx"] and got.dtype == np.float16
    assert (np.abs(got - np.exp2(half.astype(np.float64))) < 2.0**-9 * got.astype(float)).all()


def test_types_of_results() -> None:
    ints = np.array([1, 4, 9], np.int32)
    assert evaluate(math.sqrt, (i32,), ints).dtype == np.float32
    assert evaluate(math.sqrt, (i64,), ints.astype(np.int64)).dtype == np.float64
    assert evaluate(math.sqrt, (u8,), ints.astype(np.uint8)).tolist() == [1, 2, 3]
    for t in (f16, bf16):
        x = np.array([0.5, 2.0, -1.0]).astype(numpy_dtype(t))
        got = evaluate(math.exp, (t,), x)
        assert got.dtype == x.dtype
        assert np.array_equal(got, np.exp(x.astype(np.float64)).astype(x.dtype))
    vector = RANDOM.uniform(0, 1, (5, 4)).astype(np.float32)
    assert np.array_equal(
        evaluate(math.exp, (Vec(f32, 4),), vector), evaluate(math.exp, (f32,), vector.ravel()).reshape(5, 4)
    )
    power = evaluate(lambda x: math.pow(x, 2.0), (Vec(f32, 4),), vector)
    assert np.allclose(power, vector**2)
    with pytest.raises(CompileError, match="e4m3 is a storage format"):
        evaluate(math.exp, (e4m3,), np.zeros(1))


POLES = np.array([0.0, -0.0, 1, -1, 2, -2, 0.5, -0.5, -3, 200, 1000, -1000, 1e-310, -1e-310, 1e300, -1e300, INF, -INF])


@pytest.mark.parametrize("name", [*UNARY, *SPECIAL, *BINARY, "lgamma", "tgamma", "digamma", "fdividef"])
def test_literals_have_the_infinities_and_nan_of_run_time_numbers(name: str) -> None:
    function = getattr(math, name)
    numbers = np.append(POLES, NAN)
    two = name in BINARY or name == "fdividef"
    given = (np.repeat(numbers, len(numbers)), np.tile(numbers, len(numbers))) if two else (numbers,)
    found = evaluate(function, (f64,) * len(given), *given).astype(np.float64)
    literal = np.array([float(function(*map(float, x))) for x in zip(*given, strict=True)])
    assert np.array_equal(np.isnan(literal), np.isnan(found))
    ends = np.isinf(literal) | np.isinf(found) | (literal == 0) | (found == 0)
    if name in ("ceil", "floor", "rint", "trunc"):  # whole numbers of Python: 0 has no sign
        literal, found = literal + 0.0, found + 0.0
    shown = [
        [f"{y} of {x}" for y, *x in zip(z[ends], *(g[ends] for g in given), strict=True)] for z in (literal, found)
    ]
    assert shown[0] == shown[1]


def test_literals_are_computed_by_python_and_what_it_lacks_as_f64() -> None:
    assert math.exp(1.0) == python_math.e and math.sincos(0.0) == (0.0, 1.0) and math.tgamma(5.0) == 24.0
    assert math.exp(1e9) == INF and python_math.isnan(math.log(-1.0)) and python_math.isnan(math.acos(2.0))
    assert math.sincospi(1.5) == (-1.0, 0.0) and str(math.sinpi(-1.0)) == "-0.0" and math.cospi(1e300) == 1.0
    assert (
        math.frexp(12.0) == (0.75, 4) and math.modf(-1.5) == (-0.5, -1.0) and math.nextafter(1.0, 2.0) == 1 + 2.0**-52
    )
    assert math.ldexp(1.0, 3) == 8.0 and math.ldexp(-1.0, 5000) == -INF and math.isnan(NAN) is True
    assert math.remquo(-7.0, 2.0) == (1.0, -4) and math.ilogb(9.0) == 3 and math.round(-2.5) == -3.0
    assert math.fma(1 + 2.0**-30, 1 + 2.0**-30, -1.0) == 2.0**-29 + 2.0**-60 and math.minimum(2, 1) == 1.0


@pytest.mark.parametrize("name", [n for n in dir(math) if inspect.isfunction(getattr(math, n)) and n[0] != "_"])
def test_every_function_says_how_accurate_it_is(name: str) -> None:
    function = getattr(math, name)
    if function.__module__ != math.__name__:
        return
    text = inspect.getdoc(function) or ""
    assert re.search(r"\bError:? +[\d.]+ ulp|Exact|whether", text), f"{name} states no error"
    assert ("fast" in inspect.signature(function).parameters) == ("\nFast " in text)


def by_python(function: Callable[[float], float], pole: float) -> Any:
    """A function of Python's, with `pole` where it raises."""

    def one(x: float) -> float:
        try:
            return function(x)
        except OverflowError:
            return INF
        except ValueError:
            return pole

    return np.vectorize(one, otypes=[np.float64])


@pytest.mark.parametrize(("name", "pole"), [("lgamma", INF), ("tgamma", NAN)])
@pytest.mark.parametrize("t", [f32, f64], ids=str)
def test_the_gamma_function(name: str, pole: float, t: Scalar) -> None:
    dtype = numpy_dtype(t)
    ends = [1, 2, -1, -2, 0.5, 171.6, 34.9, 1e30, 1e-30, -1e-30, 1e-40, -1e-40, INF, NAN]
    ends += [sign * 10.0**-n for n in (99, 101, 154, 200, 300) for sign in (1, -1)] if t == f64 else []
    wide, near = RANDOM.uniform(-34, 40, 600), RANDOM.uniform(0.9, 2.1, 300)
    x = np.concatenate([ends, wide, near, RANDOM.uniform(-150, 170, 200) if t == f64 else []]).astype(dtype)
    truth = by_python(python_math.lgamma if name == "lgamma" else python_math.gamma, pole)(x)
    got = evaluate(getattr(math, name), (t,), x)
    if t == f32 or name == "tgamma":
        judge(name, t, got, truth, x)
    else:
        assert np.array_equal(np.isfinite(got), np.isfinite(truth))
        fine = np.isfinite(truth)
        error = np.abs(got[fine] - truth[fine]) / np.maximum(1, np.abs(truth[fine]))
        assert error.max() < 1e-13 and error[x[fine] > 0].max() < 1e-14


def test_the_gamma_function_at_its_poles() -> None:
    x = np.array([0.0, -0.0, -3.0, -INF, 172.7, 1e300])
    found = evaluate(math.lgamma, (f64,), x)
    assert found[:4].tolist() == [INF] * 4
    assert found[4:] == pytest.approx([python_math.lgamma(172.7), python_math.lgamma(1e300)], rel=1e-14)
    got = evaluate(math.tgamma, (f64,), x)
    assert got[:2].tolist() == [INF, -INF] and np.isnan(got[2:4]).all() and got[4:].tolist() == [INF, INF]
    assert math.tgamma(5.0) == 24.0 and math.erfinv(1.0) == INF


@pytest.mark.parametrize("t", [f32, f64], ids=str)
def test_digamma(t: Scalar) -> None:
    """psi(x) = psi(x + n) - the sum of 1 / (x + k), k < n, on both sides of 0; from 80 on by its asymptotic series."""
    dtype = numpy_dtype(t)
    wide, near = RANDOM.uniform(-34, 60, 600), RANDOM.uniform(1.3, 1.6, 100)
    x = np.concatenate([[0.5, 1, 1e-30, -1e-30, 1e30, 2000.5], wide, near]).astype(dtype)

    def psi(a: float) -> float:
        n = max(0, python_math.ceil(80 - a))
        z = a + n
        series = 1 / (2 * z) + 1 / (12 * z**2) - 1 / (120 * z**4) + 1 / (252 * z**6)
        return python_math.log(z) - python_math.fsum([series, *(1 / (a + k) for k in range(n))])

    truth = np.array([psi(float(a)) for a in x])
    assert truth[1] == pytest.approx(-0.5772156649015329, rel=1e-15)
    got = evaluate(math.digamma, (t,), x).astype(np.float64)
    close = np.spacing(np.abs(truth).astype(np.float32)) if t == f32 else 1e-14 * np.maximum(1, np.abs(truth))
    assert (np.abs(got - truth) <= np.where(x < 0, close + 1e-13 * np.maximum(1, np.abs(truth)), close)).all()
    ends = evaluate(math.digamma, (t,), np.array([0.0, -0.0, -3.0, -INF, INF, NAN], dtype))
    assert [str(float(a)) for a in ends] == ["-inf", "inf", "nan", "nan", "inf", "nan"]


@pytest.mark.parametrize("t", [f32, f64], ids=str)
def test_erfinv_is_the_inverse(t: Scalar) -> None:
    dtype = numpy_dtype(t)
    y = np.concatenate(
        [RANDOM.uniform(-1, 1, 150), 1 - 10.0 ** RANDOM.uniform(-15, 0, 100), 10.0 ** RANDOM.uniform(-30, 0, 80)]
    )
    y = y.astype(dtype)
    y = y[np.abs(y) < 1]
    x = evaluate(math.erfinv, (t,), y).astype(np.float64)
    # One Newton step from the result, in f64, is the distance to the true one.
    z = np.abs(x)
    rest = np.vectorize(python_math.erfc)(z) - (1 - np.abs(y.astype(np.float64)))
    near = np.where(z < 0.5, np.abs(y.astype(np.float64)) - np.vectorize(python_math.erf)(z), rest)
    off = near / (2 / np.sqrt(np.pi) * np.exp(-z * z))
    assert (np.abs(off) <= bound("erfinv", t) * np.spacing(z.astype(dtype)) + 2e-16 * z).all()
    special = np.array([0.0, -0.0, 1, -1, 2, NAN], dtype)
    got = evaluate(math.erfinv, (t,), special)
    assert got[:4].tolist() == [0, -0.0, INF, -INF] and np.isnan(got[4:]).all()
    assert np.signbit(got[1])
