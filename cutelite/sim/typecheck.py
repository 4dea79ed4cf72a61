"""Check the values that an op's `simulate` defined against the types of its results: for tests of ops (`strict`)."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np

from cutelite.ir.contract import numpy_dtype
from cutelite.ir.op import Op
from cutelite.ir.types import InFlight, Ptr, Scalar, Tensor, TensorMap, Type, Vec
from cutelite.sim.strand import Strand


def check_results(strands: Iterable[Strand], op: Op) -> None:
    """Raise TypeError where a result does not have the shape or the dtype of its type."""
    for strand in strands:
        for value in op.results:
            wrong = mismatch(strand.regs.get(value), value.type, len(strand.tid))
            if wrong:
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
