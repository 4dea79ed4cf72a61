"""Functions of NumPy and JAX on the numbers of kernels: a function that was written for arrays is taken as it is.

In    a function of `numpy`, `jax.numpy`, `jax.nn`, `jax.lax` or `jax.scipy.special`, or a class of their numbers
Out   what takes run-time numbers in its place

Those that torch has too are computed as torch's (`torch_names`): what is here differs in name or meaning.
"""

from __future__ import annotations

import operator
from collections.abc import Callable
from functools import partial
from typing import Any

from cutelite.ir.types import Scalar as DType
from cutelite.lang import math, values
from cutelite.lang.emit import mistake
from cutelite.lang.promotion import as_dtype, literal
from cutelite.lang.torch_names import FUNCTIONS, clamp, counterpart, has_floats, log_of_one_and_exp, sigmoid, to


def taking_numbers(function: Any) -> Callable[..., Any]:
    """Return what computes a function of run-time numbers. Errors: `array-function` for one without a counterpart."""
    if getattr(function, "__name__", "") == "__call__":  # of an object of JAX, such as `jax.nn.relu`
        function = getattr(function, "__self__", function)
    module = getattr(function, "__module__", None) or ""
    name = getattr(function, "__name__", "")
    if isinstance(dtype := as_dtype(function), DType):
        return partial(to, dtype=dtype)
    names, said = next(((names, said) for part, said, names in MODULES if part in module), (NUMPY, module))
    computed = counterpart(said, name, names)
    return lambda *args, **kwargs: computed(*map(literal, args), **{key: literal(x) for key, x in kwargs.items()})


def _sign(x: Any) -> Any:
    found = FUNCTIONS["sign"](x)
    return values.where(x == x, found, x) if x.dtype.is_float else found


def _rounded(x: Any, decimals: int = 0) -> Any:
    if decimals:
        raise mistake("array-function", f"a kernel rounds to whole numbers, not to {decimals} decimals")
    return math.rint(x) if x.dtype.is_float else x


def _clipped(x: Any, a_min: Any = None, a_max: Any = None, *, min: Any = None, max: Any = None) -> Any:
    return clamp(x, a_min if min is None else min, a_max if max is None else max)


def _known(x: Any, copy: bool = True, nan: Any = 0.0, posinf: Any = None, neginf: Any = None) -> Any:
    return FUNCTIONS["nan_to_num"](x, nan, posinf, neginf)


def _gelu(x: Any, approximate: bool = True) -> Any:
    return FUNCTIONS["gelu"](x, approximate="tanh" if approximate else "none")


def _quotient(x: Any, y: Any) -> Any:
    return FUNCTIONS["div"](x, y, rounding_mode=None if has_floats(x, y) else "trunc")


def _power(x: Any, y: int) -> Any:
    return x**y


SAME = """
    abs absolute acos acosh add asin asinh atan atan2 atanh bitwise_and bitwise_left_shift bitwise_or
    bitwise_right_shift bitwise_xor ceil copysign cos cosh divide exp exp2 expm1 floor floor_divide fmax fmin fmod
    greater greater_equal heaviside hypot isfinite isinf isnan less less_equal log log10 log1p log2 logaddexp logaddexp2
    logical_and logical_not logical_or logical_xor maximum minimum multiply negative nextafter not_equal positive pow
    reciprocal remainder sin sinh sqrt square subtract tan tanh true_divide trunc where
"""
"""Functions of NumPy that are torch's, by name and meaning."""

NUMPY: dict[str, Callable[..., Any]] = {
    **{name: FUNCTIONS[name] for name in SAME.split()},
    **{f"arc{name}": FUNCTIONS[f"a{name}"] for name in ("cos", "cosh", "sin", "sinh", "tan", "tan2", "tanh")},
    "power": operator.pow, "float_power": operator.pow, "mod": operator.mod, "equal": operator.eq,
    "left_shift": operator.lshift, "right_shift": operator.rshift, "invert": FUNCTIONS["bitwise_not"],
    "bitwise_not": FUNCTIONS["bitwise_not"], "bitwise_invert": FUNCTIONS["bitwise_not"], "rint": _rounded,
    "round": _rounded, "around": _rounded, "fix": math.trunc, "fabs": abs, "sign": _sign, "cbrt": math.cbrt,
    "signbit": math.signbit, "clip": _clipped, "nan_to_num": _known,
    **dict.fromkeys(("deg2rad", "radians"), lambda x: x * 0.017453292519943295),
    **dict.fromkeys(("rad2deg", "degrees"), lambda x: x * 57.29577951308232),
}  # fmt: skip
"""Functions of `numpy` and `jax.numpy`."""

OF_NN = "celu elu leaky_relu log_sigmoid mish relu relu6 selu sigmoid silu"
"""Functions of `jax.nn` that are torch's."""

NN: dict[str, Callable[..., Any]] = {
    **{name: FUNCTIONS[name] for name in OF_NN.split()},
    "swish": FUNCTIONS["silu"], "soft_sign": FUNCTIONS["softsign"], "hard_tanh": lambda x: clamp(x, -1.0, 1.0),
    "hard_sigmoid": FUNCTIONS["hardsigmoid"], "hard_silu": FUNCTIONS["hardswish"], "softplus": log_of_one_and_exp,
    "hard_swish": FUNCTIONS["hardswish"], "gelu": _gelu,
    "squareplus": lambda x, b=4.0: (x + math.sqrt(x * x + b)) * 0.5,
}  # fmt: skip
"""Functions of `jax.nn`."""

OF_LAX = """
    abs acos acosh add asin asinh atan atan2 atanh bitwise_and bitwise_not bitwise_or bitwise_xor ceil cos cosh digamma
    eq erf erfc exp exp2 expm1 floor ge gt le lgamma log log1p lt mul ne neg nextafter pow reciprocal rsqrt sin sinh
    sqrt square sub tan tanh
"""
"""Functions of `jax.lax` that are torch's."""

LAX: dict[str, Callable[..., Any]] = {
    **{name: FUNCTIONS[name] for name in OF_LAX.split()},
    "max": FUNCTIONS["maximum"], "min": FUNCTIONS["minimum"], "rem": math.fmod, "div": _quotient, "cbrt": math.cbrt,
    "erf_inv": FUNCTIONS["erfinv"], "logistic": sigmoid, "is_finite": math.isfinite, "sign": _sign,
    "select": values.where, "clamp": lambda min, x, max: clamp(x, min, max), "integer_pow": _power,
    "convert_element_type": to, "shift_left": operator.lshift, "shift_right_arithmetic": operator.rshift,
}  # fmt: skip

SPECIAL: dict[str, Callable[..., Any]] = {
    **{name: FUNCTIONS[name] for name in ("digamma", "erf", "erfc", "xlogy")},
    "erfinv": FUNCTIONS["erfinv"], "expit": sigmoid, "gammaln": FUNCTIONS["lgamma"],
    "logit": lambda x: math.log(x / (1.0 - x)),
}  # fmt: skip
"""Functions of `jax.scipy.special`."""

MODULES = (
    (".nn", "jax.nn", NN), (".lax", "jax.lax", LAX), (".scipy.special", "jax.scipy.special", SPECIAL),
    ("jax", "jax.numpy", NUMPY), ("numpy", "numpy", NUMPY),
)  # fmt: skip
"""A part of the name of a module of functions, the name that its users know, and what stands for them."""
