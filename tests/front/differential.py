"""The same Python function run by CPython and compiled: both must give the same numbers.

`same(f, (1, 2), (3, 4))` compiles `f` with run-time arguments and simulates it, by a thread for each tuple of
arguments; and again with every choice of arguments known at compile time, which must change nothing.
"""

import itertools
import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from types import FunctionType
from typing import Any

import numpy as np

from cutelite import sim
from cutelite.front.build import build
from cutelite.front.types import ArgType, Constant
from cutelite.ir.contract import numpy_dtype
from cutelite.ir.function import Function
from cutelite.ir.types import Scalar, Tensor, f32, f64, i32
from cutelite.ir.verifier import verify
from cutelite.lang.index import thread_idx
from cutelite.lang.tensor import Tensor as AnyTensor
from cutelite.lang.tensor import row_major

MAX_RESULTS = 48
SMALL = (-3, -1, 0, 1, 2, 7)


def array(elem: Scalar, *shape: Any) -> Tensor:
    return Tensor(elem, "gmem", row_major(shape), 16)


def compiled(function: Callable[..., None], threads: int = 1, **args: ArgType) -> Function:
    """The IR of a kernel, verified."""
    assert isinstance(function, FunctionType)
    made = build(function, args, {}, {"block": (threads, 1, 1)})
    verify(made)
    return made


def run(function: Function, args: Sequence[Any], dims: Mapping[str, int] | None = None) -> None:
    """Simulate a block, by default of one thread. Arguments are numbers, and lists for tensors, with None for results.

    What is not written of these stays None.
    """
    given, filled = list(args), []
    for i, (parameter, x) in enumerate(zip(function.params, args, strict=True)):
        if isinstance(parameter.type, Tensor):
            given[i] = np.array([UNWRITTEN if item is None else item for item in x], numpy_dtype(parameter.type.elem))
            filled.append((x, given[i]))
    sim.run(function, 1, given, block=function.attrs.get("block", 1), dims=dims)
    for x, array in filled:
        x[:] = [None if item == UNWRITTEN else item for item in array.tolist()]


UNWRITTEN = 85
"""What memory holds that is not written, and no test computes."""


def wrapped(x: Any, t: Scalar) -> Any:
    """`x` as a number of type `t`: integers modulo its range, floats rounded to it."""
    if t.is_int:
        low, high = t.range
        return (int(x) - low) % (high - low + 1) + low
    with np.errstate(over="ignore"):
        return np.asarray(x).astype(numpy_dtype(t)).item()


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
    """A kernel of `count` parameters, arrays with an element for each thread or constants; `out`: the results."""
    names = [f"a{i}" for i in range(count)]
    source = (
        f"def kernel(out, {', '.join(names)}):\n"
        f"    results = own(out)\n"
        f"    for place, value in enumerate(flat(function({', '.join(f'own({name})' for name in names)}))):\n"
        f"        results[place] = dtype(value)\n"
    )
    space: dict[str, Any] = {"function": function, "flat": _flat_in_kernel, "own": _own, "dtype": dtype}
    exec(source, space)
    return space["kernel"]  # type: ignore[no-any-return]


def _own(x: Any) -> Any:
    """An element, or for a matrix a row: of the thread."""
    if not isinstance(x, AnyTensor):
        return x
    return x[thread_idx.x] if x.ndim == 1 else x[thread_idx.x, None]


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
    alike: dict[Any, list[tuple[Any, ...]]] = {}  # inputs by what is known of them at compile time
    for given in inputs:
        for mask in itertools.product((False, True), repeat=count) if masks else [(False,) * count]:
            known = tuple(Constant(x) if at else None for at, x in zip(mask, given, strict=True))
            alike.setdefault(known, []).append(given)
    expected = {given: [wrapped(x, result_type) for x in flat(function(*given))] for given in inputs}
    for known, rows in alike.items():
        columns = [list(column) for column in zip(*rows, strict=True)]
        types = {f"a{i}": array(dtype, len(rows)) if fixed is None else fixed for i, fixed in enumerate(known)}
        made = compiled(kernel, len(rows), out=array(result_type, len(rows), MAX_RESULTS), **types)
        out: list[Any] = [None] * (len(rows) * MAX_RESULTS)
        run(made, [out, *(column for column, fixed in zip(columns, known, strict=True) if fixed is None)])
        for i, given in enumerate(rows):
            found, wanted = out[i * MAX_RESULTS : (i + 1) * MAX_RESULTS], expected[given]
            wanted = wanted + [None] * (MAX_RESULTS - len(wanted))
            assert all(map(equal, found, wanted)), f"{given}, of which {known} at compile time: {found}, not {wanted}"


def equal(a: Any, b: Any) -> bool:
    return a == b or (isinstance(a, float) and isinstance(b, float) and math.isnan(a) and math.isnan(b))


def pairs(*values: int) -> list[tuple[int, int]]:
    return [(a, b) for a in values or SMALL for b in values or SMALL]


def singles(*values: int) -> list[tuple[int]]:
    return [(value,) for value in values or SMALL]


__all__ = ["SMALL", "array", "compiled", "f32", "flat", "i32", "kernel_of", "pairs", "same", "singles"]
