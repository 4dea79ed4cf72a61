"""The same Python function run by CPython and compiled: both must give the same numbers.

`same(f, (1, 2), (3, 4))` compiles `f` with run-time arguments and executes it for each tuple of arguments; and again
with every choice of arguments known at compile time, which must change nothing.
"""

import itertools
import math
from collections.abc import Callable, Iterator
from types import FunctionType
from typing import Any

from cutelite.front.build import build
from cutelite.front.types import ArgType, Constant
from cutelite.ir.function import Function
from cutelite.ir.types import Scalar, Tensor, f32, f64, i32
from cutelite.ir.verifier import verify
from cutelite.lang.tensor import row_major
from tests.front import scalar

MAX_RESULTS = 48
SMALL = (-3, -1, 0, 1, 2, 7)


def array(elem: Scalar, *shape: Any) -> Tensor:
    return Tensor(elem, "gmem", row_major(shape), 16)


def compiled(function: Callable[..., None], **args: ArgType) -> Function:
    """The IR of a kernel, verified."""
    assert isinstance(function, FunctionType)
    made = build(function, args, {}, {"block": (1, 1, 1)})
    verify(made)
    return made


def flat(x: Any) -> Iterator[Any]:
    """The numbers in a nested result; None counts as one, since it can differ between paths of a test."""
    if isinstance(x, tuple | list):
        for item in x:
            yield from flat(item)
    elif isinstance(x, dict):
        yield from flat(list(x.values()))
    else:
        yield x


def kernel_of(function: Callable[..., Any], count: int, dtype: Scalar) -> Callable[..., None]:
    """A kernel of `count` parameters, and an array of `dtype` for what the function returns for them."""
    names = ", ".join(f"a{i}" for i in range(count))
    source = (
        f"def kernel(out, {names}):\n"
        f"    for place, value in enumerate(flat(function({names}))):\n"
        f"        out[place] = dtype(value)\n"
    )
    space: dict[str, Any] = {"function": function, "flat": _flat_in_kernel, "dtype": dtype}
    exec(source, space)
    return space["kernel"]  # type: ignore[no-any-return]


def _flat_in_kernel(x: Any) -> tuple[Any, ...]:
    if isinstance(x, tuple | list):
        return sum(map(_flat_in_kernel, x), ())
    if isinstance(x, dict):
        return _flat_in_kernel(list(x.values()))
    return (x,)


def same(function: Callable[..., Any], *inputs: tuple[Any, ...], dtype: Scalar = i32, masks: bool = True) -> None:
    """Compiled and executed, `function` returns what CPython returns, for each tuple of arguments."""
    count = len(inputs[0])
    result_type = f64 if dtype.is_float else dtype
    kernel = kernel_of(function, count, result_type)
    built: dict[Any, Function] = {}
    for given in inputs:
        expected = list(flat(function(*given)))
        for mask in itertools.product((False, True), repeat=count) if masks else [(False,) * count]:
            key = tuple((known, x if known else None) for known, x in zip(mask, given, strict=True))
            types: dict[str, ArgType] = {"out": array(result_type, MAX_RESULTS)}
            for i, (known, x) in enumerate(zip(mask, given, strict=True)):
                types[f"a{i}"] = Constant(x) if known else dtype
            if key not in built:
                built[key] = compiled(kernel, **types)
            out: list[Any] = [None] * MAX_RESULTS
            scalar.run(built[key], [out, *(x for known, x in zip(mask, given, strict=True) if not known)])
            found = out[: len(expected)]
            wanted = [scalar.wrapped(x, result_type) for x in expected]
            assert all(map(equal, found, wanted)), f"{given}, of which {mask} at compile time: {found}, not {wanted}"
            assert out[len(expected) :] == [None] * (MAX_RESULTS - len(expected))


def equal(a: Any, b: Any) -> bool:
    return a == b or (isinstance(a, float) and isinstance(b, float) and math.isnan(a) and math.isnan(b))


def pairs(*values: int) -> list[tuple[int, int]]:
    return [(a, b) for a in values or SMALL for b in values or SMALL]


def singles(*values: int) -> list[tuple[int]]:
    return [(value,) for value in values or SMALL]


__all__ = ["SMALL", "array", "compiled", "f32", "flat", "i32", "kernel_of", "pairs", "same", "singles"]
