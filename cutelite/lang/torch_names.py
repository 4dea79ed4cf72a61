"""Functions and methods of torch on the numbers of kernels: a FlexAttention function is taken as it is written.

In    a function of torch, or the name of a method of its tensors, and run-time numbers
Out   what the same function of `cl`, or operator, gives
"""

from __future__ import annotations

import operator
import re
import sys
from collections.abc import Callable
from functools import partial, reduce
from math import inf
from typing import Any

from cutelite.ir.types import bf16, boolean, f16, f32, f64, i32, i64
from cutelite.lang import math, values
from cutelite.lang.emit import mistake, wrap
from cutelite.lang.promotion import DEVICE, LARGEST, as_value, differentiable, dtype_of, is_tensor, literal


def called(function: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """Return what a function of torch gives. Errors: `torch-function` for one that has no counterpart."""
    name = getattr(function, "__name__", str(function))
    if name == "__getitem__":
        raise mistake(
            "torch-function",
            "a kernel cannot index this tensor",
            help="kernels are given the arrays that a function "
            "captured, or has as global variables, and those of functions that these name: keep it in a variable",
        )
    function = counterpart("torch", name, FUNCTIONS)
    given, named = [literal(x) for x in args], {key: literal(x) for key, x in kwargs.items()}
    for x in (*given, *named.values()):
        if is_tensor(type(x)):  # its own operators would come here again
            raise mistake(
                "torch-function",
                f"a kernel cannot compute with a whole tensor, here of shape {tuple(x.shape)}",
                help="make it before, as a variable that the function captures, and index it: `t[h]`",
            )
    return function(*given, **named)


def counterpart(module: str, name: str, functions: dict[str, Callable[..., Any]]) -> Callable[..., Any]:
    """Return what stands for a function of a module, or for a method of its arrays.

    functions  those of the module, by name
    Errors     `torch-function`, or `array-function` of another module: for one that is not among them, and when it is
               called with arguments that it has not
    """
    code = "torch-function" if module == "torch" else "array-function"
    if name not in functions:
        raise mistake(
            code, f"a kernel has no `{module}.{name}`", help=f"those that it has: {', '.join(sorted(functions))}"
        )

    def called(*args: Any, **kwargs: Any) -> Any:
        try:
            return functions[name](*args, **kwargs)
        except TypeError as error:
            text = re.sub(r"^[\w.<>]+\(\) ", "", str(error))
            raise mistake(code, f"a kernel's `{module}.{name}` does not take these arguments: {text}") from error

    return called


def method(x: Any, name: str) -> Any:
    """Return a method of torch's tensors, bound to `x`. Errors: AttributeError for one that has no counterpart."""
    if name == "device":
        return DEVICE
    if name not in METHODS:
        raise AttributeError(f"{type(x).__name__!r} object has no attribute {name!r}")
    return partial(counterpart("torch", name, METHODS), x)


def _logical(op: Callable[[Any, Any], Any]) -> Callable[..., Any]:
    return lambda *xs: reduce(op, (x if isinstance(x, bool) or x.dtype is boolean else x != 0 for x in xs))


def has_floats(*xs: Any) -> bool:
    """Tell whether some of these numbers are floats."""
    return any(isinstance(x, float) or (hasattr(x, "dtype") and x.dtype.is_float) for x in xs)


def _extreme(of_floats: Callable[..., Any], of_others: Callable[..., Any]) -> Callable[..., Any]:
    """Return the function for two numbers, of which torch returns NaN where one is NaN."""

    def pick(a: Any, b: Any) -> Any:
        return (of_floats if has_floats(a, b) else of_others)(a, b)

    return pick


def clamp(x: Any, min: Any = None, max: Any = None) -> Any:
    x = x if min is None else MAXIMUM(x, min)
    return x if max is None else MINIMUM(x, max)


def to(x: Any, dtype: Any) -> Any:
    """Return a number as a dtype of torch, by its name, or of `cl`."""
    wanted = dtype_of(dtype)
    if isinstance(x, int | float):
        return bool(x) if wanted is boolean else float(x) if wanted.is_float else int(x)
    if wanted is boolean and x.dtype is not boolean:
        return x != 0
    return x.to(wanted)


def _new(number: Any) -> Callable[..., Any]:
    """Return the method that makes a tensor without modes of the number.

    It is a run-time number: functions of torch that take nothing but tensors refuse Python's before they come here.
    """

    def made(x: Any, size: Any, *, dtype: Any = None, device: Any = None) -> Any:
        if tuple(size) != ():
            raise mistake("torch-function", f"a kernel makes no tensor of shape {tuple(size)}: only `()`, a number")
        wanted = dtype_of(x.dtype if dtype is None else dtype)
        return wrap(as_value(to(number, wanted), wanted))

    return made


def _scaled(op: Callable[[Any, Any], Any]) -> Callable[..., Any]:
    """Return `torch.add` or `torch.sub`: the second number may have a factor."""
    return lambda x, other, *, alpha=1: op(x, other if alpha == 1 else other * alpha)


def _divided(x: Any, other: Any, *, rounding_mode: str | None = None) -> Any:
    if rounding_mode == "floor":
        return x // other
    if rounding_mode == "trunc" and not has_floats(x, other):
        return values.where((x < 0) != (other < 0), -(abs(x) // abs(other)), abs(x) // abs(other))
    return math.trunc(x / other) if rounding_mode == "trunc" else x / other


def _in_f32(function: Callable[..., Any]) -> Callable[..., Any]:
    """Return the function computed in f32 for integers, f16 and bf16, as torch does, and rounded once."""

    def computed(*xs: Any, **how: Any) -> Any:
        dtypes = {x.dtype for x in xs if hasattr(x, "dtype")}
        wide = [x.to(f32) if hasattr(x, "dtype") and x.dtype not in (f32, f64) else x for x in xs]
        found = function(*wide, **how)
        return found.to(dtypes.pop()) if dtypes == {f16} or dtypes == {bf16} else found

    return computed


def _gelu(x: Any, approximate: str = "none") -> Any:
    if approximate == "tanh":
        return 0.5 * x * (1.0 + math.tanh(0.7978845608028654 * (x + 0.044715 * x * x * x)))
    return 0.5 * x * (1.0 + math.erf(x * 0.7071067811865476))


def sigmoid(x: Any) -> Any:
    if (dual := differentiable(x)) is not None:  # the steps' derivatives are 0 * inf where exp(-x) is infinite
        return dual.apply("sigmoid", sigmoid, x)
    return 1.0 / (math.exp(-x) + 1.0)


def log_of_one_and_exp(x: Any) -> Any:
    if (dual := differentiable(x)) is not None:
        return dual.apply("softplus", log_of_one_and_exp, x)
    return math.log1p(math.exp(-abs(x))) + MAXIMUM(x, 0.0)


def _softplus(x: Any, beta: float = 1.0, threshold: float = 20.0) -> Any:
    by = x if beta == 1 else x * beta
    found = log_of_one_and_exp(by)
    found = found if beta == 1 else found / beta
    return values.where(by > float(threshold), x, found)


def _sum_of_powers(exp: Callable[..., Any], rest: Callable[..., Any], of_two: float) -> Callable[..., Any]:
    """Return `torch.logaddexp` or `logaddexp2`; `rest`: the logarithm of one and a number, `of_two`: that of two."""

    def function(x: Any, other: Any) -> Any:
        found = MAXIMUM(x, other) + rest(exp(-abs(x - other)))
        return values.where(x == other, 0.5 * (x + other) + of_two, found)  # also of infinities; both have a slope

    return function


def _threshold(x: Any, threshold: float, value: float, inplace: bool = False) -> Any:
    return values.where(x <= float(threshold), float(value), x)


def _known(x: Any, nan: float | None = 0.0, posinf: float | None = None, neginf: float | None = None) -> Any:
    """Return `torch.nan_to_num`: without numbers of the caller's, infinities become the dtype's greatest."""
    if not x.dtype.is_float:
        return x
    most = LARGEST.get(x.dtype.name, sys.float_info.max)
    found = values.where(x > most, most if posinf is None else posinf, x)
    found = values.where(x < -most, -most if neginf is None else neginf, found)
    return values.where(x == x, found, 0.0 if nan is None else nan)


SELU = 1.0507009873554805, 1.6732632423543772
MINIMUM, MAXIMUM = _extreme(math.minimum, values.minimum), _extreme(math.maximum, values.maximum)

SAME = """
    acos acosh asin asinh atan atan2 atanh ceil copysign cos cosh digamma erf erfc erfinv exp exp2 expm1 floor hypot
    isfinite isinf isnan lgamma log log10 log1p log2 logb nextafter rsqrt sin sinh sqrt tan tanh trunc
"""
"""Functions that `cl.math` has under the same name."""
OPERATORS = "add sub mul truediv floordiv mod pow neg eq ne lt le gt ge lshift rshift"

FUNCTIONS: dict[str, Callable[..., Any]] = {
    **{name: getattr(math, name) for name in SAME.split()},
    **{name: getattr(operator, name) for name in OPERATORS.split()},
    "abs": abs, "absolute": abs, "where": values.where, "clamp": clamp, "clip": clamp, "round": math.rint,
    "maximum": MAXIMUM, "minimum": MINIMUM, "max": MAXIMUM, "min": MINIMUM, "fmax": values.maximum,
    "fmin": values.minimum, "reciprocal": lambda x: 1.0 / x, "square": lambda x: x * x,
    "sigmoid": sigmoid, "relu": lambda x, inplace=False: MAXIMUM(0.0, x), "add": _scaled(operator.add),
    "sub": _scaled(operator.sub), "subtract": _scaled(operator.sub), "multiply": operator.mul, "div": _divided,
    "divide": _divided, "true_divide": operator.truediv, "gelu": _gelu,
    "silu": lambda x, inplace=False: x * sigmoid(x), "log_sigmoid": lambda x: -_softplus(-x),
    "masked_fill": lambda x, mask, value: values.where(mask, value, x),
    "lerp": lambda x, end, weight: x + weight * (end - x),
    "floor_divide": operator.floordiv, "remainder": operator.mod, "fmod": math.fmod, "negative": operator.neg,
    "logical_and": _logical(operator.and_), "logical_or": _logical(operator.or_), "logical_xor": _logical(operator.xor),
    "logical_not": lambda x: _logical(operator.xor)(x, True), "bitwise_and": operator.and_, "bitwise_or": operator.or_,
    "bitwise_xor": operator.xor,
    "bitwise_not": lambda x: x ^ True if x.dtype is boolean else ~x, "greater": operator.gt, "less": operator.lt,
    "greater_equal": operator.ge, "less_equal": operator.le, "not_equal": operator.ne,
    "zeros_like": lambda x, **how: _new(0)(x, (), **how), "ones_like": lambda x, **how: _new(1)(x, (), **how),
    "full_like": lambda x, fill_value, **how: _new(fill_value)(x, (), **how),
    "sign": lambda x: (x > 0).to(x.dtype) - (x < 0).to(x.dtype),
    "softplus": _softplus, "nan_to_num": _known,
    "elu": lambda x, alpha=1.0, inplace=False: values.where(x > 0.0, x, alpha * math.expm1(MINIMUM(x, 0.0))),
    "rsub": lambda x, other, *, alpha=1: other - x * alpha,
    "leaky_relu": lambda x, negative_slope=0.01, inplace=False: values.where(x > 0.0, x, x * negative_slope),
    "hardtanh": lambda x, min_val=-1.0, max_val=1.0, inplace=False: clamp(x, min_val, max_val),
    "relu6": lambda x, inplace=False: clamp(x, 0.0, 6.0), "clamp_min": MAXIMUM, "clamp_max": MINIMUM,
    "hardsigmoid": lambda x, inplace=False: clamp(x + 3.0, 0.0, 6.0) / 6.0, "positive": operator.pos,
    "hardswish": lambda x, inplace=False: x * clamp(x + 3.0, 0.0, 6.0) / 6.0,
    "mish": lambda x, inplace=False: x * math.tanh(_softplus(x)), "softsign": lambda x: x / (abs(x) + 1.0),
    "tanhshrink": lambda x: x - math.tanh(x),
    "logaddexp": _sum_of_powers(math.exp, math.log1p, 0.6931471805599453),
    "logaddexp2": _sum_of_powers(math.exp2, lambda x: math.log1p(x) * 1.4426950408889634, 1.0),
    "addcmul": lambda x, a, b, *, value=1: x + (a * b if value == 1 else a * b * value),
    "addcdiv": lambda x, a, b, *, value=1: x + (a / b if value == 1 else a / b * value),
    "heaviside": lambda x, values_at_0: values.where(x == 0.0, values_at_0, values.where(x > 0.0, 1.0, 0.0)),
    "xlogy": lambda x, other: x * values.where((x == 0.0) & ((other <= 0.0) | (other == inf)), 0.0, math.log(other)),
    "frac": lambda x: x - math.trunc(x), "fix": math.trunc, "threshold": _threshold, "_threshold": _threshold,
    "hardshrink": lambda x, lambd=0.5: values.where(abs(x) > float(lambd), x, x * 0.0),
    "softshrink": lambda x, lambd=0.5: values.where(x > float(lambd), x - float(lambd),
        values.where(x < -float(lambd), x + float(lambd), x * 0.0)),
    "celu": lambda x, alpha=1.0, inplace=False: values.where(x > 0.0, x, alpha * math.expm1(MINIMUM(x, 0.0) / alpha)),
    "selu": lambda x, inplace=False: SELU[0] * values.where(x > 0.0, x, SELU[1] * math.expm1(MINIMUM(x, 0.0))),
    "bitwise_left_shift": operator.lshift, "bitwise_right_shift": operator.rshift,
}  # fmt: skip
"""Functions of torch by their names."""

COMPUTED = """
    addcdiv addcmul celu elu gelu hardsigmoid hardswish lerp log_sigmoid logaddexp logaddexp2 mish reciprocal selu
    sigmoid silu softplus xlogy
"""
"""Functions of several steps, of which torch rounds the result alone."""
FUNCTIONS |= {name: _in_f32(FUNCTIONS[name]) for name in COMPUTED.split()}

OTHERWISE = {
    **{f"arc{name}": f"a{name}" for name in ("cos", "cosh", "sin", "sinh", "tan", "tan2", "tanh")},
    "special_erf": "erf", "special_erfc": "erfc", "special_erfinv": "erfinv", "special_exp2": "exp2",
    "special_expit": "sigmoid", "special_expm1": "expm1", "special_gammaln": "lgamma", "special_digamma": "digamma",
    "special_log1p": "log1p", "special_xlogy": "xlogy", "special_round": "round", "special_psi": "digamma",
    "sgn": "sign",
}  # fmt: skip
"""Names of torch for the same functions."""
FUNCTIONS |= {name: FUNCTIONS[same] for name, same in OTHERWISE.items()}

METHODS: dict[str, Callable[..., Any]] = {
    **FUNCTIONS,
    "where": lambda x, condition, other: values.where(condition, x, other),
    "float": lambda x: to(x, f32), "int": lambda x: to(x, i32), "long": lambda x: to(x, i64),
    "bool": lambda x: to(x, boolean), "half": lambda x: to(x, f16), "bfloat16": lambda x: to(x, bf16),
    "double": lambda x: to(x, f64), "type": to, "type_as": lambda x, other: to(x, other.dtype),
    "new_zeros": _new(0), "new_ones": _new(1),
    "astype": lambda x, dtype, copy=True: to(x, dtype),  # of arrays of NumPy and JAX
    "new_full": lambda x, size, fill_value, **how: _new(fill_value)(x, size, **how),
}  # fmt: skip
"""Methods of torch's tensors by their names, and `astype`."""
