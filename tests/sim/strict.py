"""Simulations that check the values which an op's `simulate` defines against the types of its results."""

from collections.abc import Callable, Generator
from typing import Any
from unittest import mock

import numpy as np

from cutelite import sim
from cutelite.ir.contract import numpy_dtype
from cutelite.ir.op import Op
from cutelite.ir.types import InFlight, Ptr, Scalar, Tensor, TensorMap, Type, Vec
from cutelite.sim import program
from cutelite.sim.strand import Strand


def run(*args: Any, **options: Any) -> sim.Report:
    """Simulate. Raise TypeError where a result does not have the shape or the dtype of its type."""
    with mock.patch.object(program, "_step", checking(program._step)):
        return sim.run(*args, **options)


def checking(step: Callable[..., program.Step]) -> Callable[..., program.Step]:
    """Return a function like `program._step`, whose steps check what they define."""

    def made(op: Op, *args: Any) -> program.Step:
        plain = step(op, *args)

        def simulate(lanes: Any) -> Any:
            wait = plain.simulate(lanes)
            check(op, lanes)
            return wait

        def whole(lanes: Any) -> Generator[Any, Any, Any]:
            found = yield from plain.simulate(lanes)
            check(op, lanes)
            return found

        return plain._replace(simulate=whole if plain.generator else simulate)

    return made


def check(op: Op, lanes: Any) -> None:
    for strand in [lanes] if isinstance(lanes, Strand) else [strand for strand, _, _ in lanes.parts]:
        for value in op.results:
            if wrong := mismatch(strand.regs.get(value), value.type, len(strand.tid)):
                raise TypeError(f"the result {value!r} {wrong}")


def mismatch(held: Any, t: Type, lanes: int) -> str:
    """Describe how `held` differs from a value of type `t` in `lanes` threads; '' if it does not."""
    if not isinstance(held, np.ndarray):
        return f"is {type(held).__name__}, not an array"
    shape: tuple[int, ...] = (lanes,)
    match t:
        case Vec(elem=elem, n=n):
            shape, dtype = (lanes, n), numpy_dtype(elem)
        case Scalar():
            dtype = numpy_dtype(t)
        case InFlight(inner=Vec()):
            dtype = np.dtype(object)  # the ticket of the work
        case Ptr() | Tensor() | InFlight() | TensorMap(stored=True):
            dtype = np.dtype(np.int64)
        case _:
            return ""
    if held.shape != shape:
        return f"has the shape {held.shape}, not {shape}"
    return f"is of {held.dtype}, not {dtype}" if held.dtype != dtype else ""
